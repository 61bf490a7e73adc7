/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/page/page_ports.h"

#include <string.h>

#include "common/clock.h"
#include "director/nexthop/neighbours.h"
#include "director/ports/link.h"

static const char *state_text(uint8_t state)
{
	switch (state) {
	case PORT_RECOVERING:
		return "recovering";
	case PORT_RESETTING:
		return "resetting";
	default:
		return "removed";
	}
}

bool page_describe_port(const struct page *page, uint16_t index, struct port_row *row)
{
	struct director *director = page->director;
	const struct port *port = &director->ports[index];
	const struct history_port *history = &page->history->ports[index];
	unsigned at = page->history->index;
	struct rte_eth_stats stats;
	struct link link = link_load(port);
	uint8_t state = __atomic_load_n(&port->state, __ATOMIC_RELAXED);

	if (!port_is_used(port))
		return false;
	director_port_stats(director, index, &stats);
	*row = (struct port_row){.id = port->id,
		.name = port->name,
		.state = link.up ? HTML_OK : HTML_BAD,
		.rx = (double)history->rx.rates[at],
		.tx = (double)history->tx.rates[at],
		.rx_bits = 8 * (double)history->rx_bytes.rates[at],
		.tx_bits = 8 * (double)history->tx_bytes.rates[at],
		.missed = stats.imissed,
		.no_buffer = stats.rx_nombuf,
		.errors = stats.ierrors + stats.oerrors};
	if (state == PORT_RUNNING)
		link_text(&link, row->text);
	else
		snprintf(row->text, sizeof(row->text), "%s", state_text(state));
	return true;
}

uint32_t page_next_hop_sets(const struct page *page)
{
	return page->director->conf.port_interface_count ? page->director->conf.port_interface_count : 1;
}

/* The only next hop if outbound_gateway_mac is an address. */
static void describe_fixed(const struct director *director, struct nexthop_item *item)
{
	uint64_t mac = 0;

	memcpy(&mac, director->conf.gateway_mac, sizeof(director->conf.gateway_mac));
	*item = (struct nexthop_item){
		.state = "fixed",
		.age_s = (uint32_t)((clock_now_ns() - director->started_ns) / CLOCK_NS_PER_S),
	};
	neighbour_mac_text(mac, item->mac);
}

void page_list_next_hops(const struct page *page, uint32_t set, struct next_hops_page *list)
{
	const struct director *director = page->director;

	list->port = director->conf.port_interface_count ? director->ports[set].name : "all";
	list->count = 1;
	list->orphan_count = 0;
	if (director->nexthop) {
		list->count = nexthop_list(director->nexthop, set, 0, list->items, NEXT_HOPS_SHOWN + 1);
		list->orphan_count = nexthop_list_orphans(director->nexthop, set, 0, list->orphans, ORPHANS_SHOWN + 1);
	} else {
		describe_fixed(director, &list->items[0]);
	}
	list->more = list->count > NEXT_HOPS_SHOWN || list->orphan_count > ORPHANS_SHOWN;
	if (list->count > NEXT_HOPS_SHOWN)
		list->count = NEXT_HOPS_SHOWN;
	if (list->orphan_count > ORPHANS_SHOWN)
		list->orphan_count = ORPHANS_SHOWN;
}
