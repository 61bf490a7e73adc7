/* SPDX-License-Identifier: BSD-3-Clause */
/* What the page says about ports and next hops. The HTTP thread calls all functions. */
#ifndef GLB_DIRECTOR_PAGE_PAGE_PORTS_H
#define GLB_DIRECTOR_PAGE_PAGE_PORTS_H

#include "director/nexthop/nexthop.h"
#include "director/page/page.h"
#include "program/html/html.h"

struct port_row {
	uint16_t id;
	const char *name;
	enum html_state state;
	char text[64];
	double rx, tx, rx_bits, tx_bits;
	/* Frames, as the driver counts. */
	uint64_t missed, no_buffer, errors;
};

/* Returns false if no flow path uses the port. `index` is that in director->ports. */
bool page_describe_port(const struct page *page, uint16_t index, struct port_row *row);

enum { NEXT_HOPS_SHOWN = 32, ORPHANS_SHOWN = 16 };

/* Some next hops of a port, and some backends without one. */
struct next_hops_page {
	/* DPDK's name of the port, or "all". */
	const char *port;
	uint32_t count, orphan_count;
	struct nexthop_item items[NEXT_HOPS_SHOWN + 1];
	struct nexthop_orphan orphans[ORPHANS_SHOWN + 1];
	bool more;
};

uint32_t page_next_hop_sets(const struct page *page);
void page_list_next_hops(const struct page *page, uint32_t set, struct next_hops_page *list);

#endif
