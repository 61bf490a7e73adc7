/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "common/clock.h"
#include "director/nexthop/nexthop_state.h"

static const struct path *path_at(const struct nexthop *nexthop, uint32_t index, uint32_t port)
{
	const struct destinations *destinations = &nexthop->destinations;

	return &destinations->paths[(size_t)index * destinations->ports + port];
}

/* Counts for each neighbour the backends whose routes from this port lead to it. */
static void count_backends(struct nexthop *nexthop, uint32_t port)
{
	for (uint32_t i = 0; i < nexthop->neighbours.count; i++)
		nexthop->neighbours.items[i]->backends = 0;
	for (uint32_t i = 0; i < nexthop->destinations.count; i++) {
		const struct path *path = path_at(nexthop, i, port);

		for (uint32_t j = 0; j < path->count; j++)
			path->links[j].neighbour->backends++;
	}
}

struct nexthop_summary nexthop_summary(struct nexthop *nexthop, uint32_t port)
{
	struct nexthop_summary summary = {0};
	uint64_t mac = 0;

	pthread_mutex_lock(&nexthop->lock);
	count_backends(nexthop, port);
	summary.version = nexthop->version;
	summary.backends = nexthop->destinations.count;
	for (uint32_t i = 0; i < nexthop->destinations.count; i++)
		summary.backends_without += !path_is_usable(path_at(nexthop, i, port));
	for (uint32_t i = 0; i < nexthop->neighbours.count; i++) {
		const struct neighbour *neighbour = nexthop->neighbours.items[i];

		if (!neighbour->backends)
			continue;
		summary.next_hops++;
		summary.states[neighbour_state(neighbour)]++;
		if (!neighbour_mac(neighbour) && summary.unreachable++ == 0)
			neighbour_address(&neighbour->key, summary.lost);
		mac = neighbour_mac(neighbour) ? neighbour_mac(neighbour) : mac;
	}
	pthread_mutex_unlock(&nexthop->lock);
	neighbour_mac_text(mac, summary.mac);
	if (summary.next_hops - summary.unreachable > 1)
		strcpy(summary.mac, "several");
	return summary;
}

static struct nexthop_item describe(const struct neighbour *neighbour, uint64_t now_ms)
{
	struct nexthop_item item = {
		.state = neighbour_states[neighbour_state(neighbour)],
		.age_s = (uint32_t)((now_ms - neighbour->changed_ms) / 1000),
		.backends = neighbour->backends,
	};

	neighbour_address(&neighbour->key, item.address);
	if (!if_indextoname(neighbour->key.interface, item.interface))
		item.interface[0] = '\0';
	neighbour_mac_text(neighbour_mac(neighbour), item.mac);
	return item;
}

uint32_t nexthop_list(struct nexthop *nexthop, uint32_t port, uint32_t first, struct nexthop_item *items, uint32_t max)
{
	uint64_t now = clock_now_ms();
	uint32_t at = 0, count = 0;

	pthread_mutex_lock(&nexthop->lock);
	count_backends(nexthop, port);
	for (uint32_t i = 0; i < nexthop->neighbours.count && count < max; i++)
		if (nexthop->neighbours.items[i]->backends && at++ >= first)
			items[count++] = describe(nexthop->neighbours.items[i], now);
	pthread_mutex_unlock(&nexthop->lock);
	return count;
}

bool nexthop_find(struct nexthop *nexthop, uint32_t port, const struct netaddr *backend, uint16_t source_port,
	struct nexthop_item *item)
{
	const struct neighbour *neighbour;
	const struct path *path;

	pthread_mutex_lock(&nexthop->lock);
	path = destinations_path(&nexthop->destinations, backend, port);
	neighbour = path ? path_choose(path, source_port) : NULL;
	if (neighbour)
		*item = describe(neighbour, clock_now_ms());
	pthread_mutex_unlock(&nexthop->lock);
	item->backends = 0;
	return neighbour != NULL;
}

static const char *explain(const struct path *path)
{
	if (!path->done)
		return "its route is not looked up yet";
	return path->why ? path->why : "no next hop of its route is reachable";
}

uint32_t nexthop_list_orphans(
	struct nexthop *nexthop, uint32_t port, uint32_t first, struct nexthop_orphan *orphans, uint32_t max)
{
	uint32_t at = 0, count = 0;

	pthread_mutex_lock(&nexthop->lock);
	for (uint32_t i = 0; i < nexthop->destinations.count && count < max; i++) {
		const struct path *path = path_at(nexthop, i, port);

		if (path_is_usable(path) || at++ < first)
			continue;
		orphans[count].why = explain(path);
		netaddr_format(&nexthop->destinations.addresses[i], orphans[count].address);
		count++;
	}
	pthread_mutex_unlock(&nexthop->lock);
	return count;
}
