/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/nexthop/destinations.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return netaddr_compare(a, b);
}

static uint32_t sort(struct netaddr *addresses, uint32_t count)
{
	uint32_t kept = 0;

	qsort(addresses, count, sizeof(*addresses), compare);
	for (uint32_t i = 0; i < count; i++)
		if (!kept || netaddr_compare(&addresses[i], &addresses[kept - 1]) != 0)
			addresses[kept++] = addresses[i];
	return kept;
}

/* Returns the sorted addresses of the new destinations. NULL: out of memory. The caller frees the result. */
static struct netaddr *list(const struct destinations *old, const struct routes *routes, bool keep, uint32_t *count)
{
	bool *first = calloc(routes->address_count + 1, sizeof(*first));
	uint32_t kept = keep ? old->count : 0;
	struct netaddr *addresses = calloc((size_t)routes->address_count + kept + 1, sizeof(*addresses));

	if (first && addresses) {
		routes_mark_first_hops(routes, first);
		if (kept)
			memcpy(addresses, old->addresses, kept * sizeof(*addresses));
		for (uint32_t i = 0; i < routes->address_count; i++)
			if (first[i])
				addresses[kept++] = routes_address(routes, i);
		*count = sort(addresses, kept);
	} else {
		free(addresses);
		addresses = NULL;
	}
	free(first);
	return addresses;
}

/* Moves what is known about an address to a new destination. */
static void move_paths(const struct destinations *old, const struct netaddr *address, struct path *to)
{
	for (uint32_t port = 0; port < old->ports; port++) {
		struct path *from = destinations_path(old, address, port);

		if (!from)
			return;
		to[port] = *from;
		*from = (struct path){0};
	}
}

bool destinations_follow(struct destinations *destinations, const struct routes *routes, bool keep)
{
	struct destinations next = {.ports = destinations->ports};

	next.addresses = list(destinations, routes, keep, &next.count);
	next.paths = calloc((size_t)next.count * next.ports + 1, sizeof(*next.paths));
	if (!next.addresses || !next.paths) {
		free(next.addresses);
		free(next.paths);
		return false;
	}
	for (uint32_t i = 0; i < next.count; i++)
		move_paths(destinations, &next.addresses[i], &next.paths[i * next.ports]);
	destinations_free(destinations);
	*destinations = next;
	return true;
}

void destinations_free(struct destinations *destinations)
{
	for (size_t i = 0; i < (size_t)destinations->count * destinations->ports; i++)
		free(destinations->paths[i].links);
	free(destinations->addresses);
	free(destinations->paths);
	*destinations = (struct destinations){.ports = destinations->ports};
}

struct path *destinations_path(const struct destinations *destinations, const struct netaddr *address, uint32_t port)
{
	const struct netaddr *found = destinations->count ? bsearch(address, destinations->addresses,
								    destinations->count, sizeof(*address), compare)
							  : NULL;

	return found ? &destinations->paths[(size_t)(found - destinations->addresses) * destinations->ports + port]
		     : NULL;
}

static int compare_links(const void *a, const void *b)
{
	uint64_t x = ((const struct hop_link *)a)->neighbour->id, y = ((const struct hop_link *)b)->neighbour->id;

	return (x > y) - (x < y);
}

void path_sort(struct hop_link *links, uint32_t count)
{
	if (count)
		qsort(links, count, sizeof(*links), compare_links);
}

bool path_replace(struct path *path, struct hop_link *links, uint32_t count, const char *why)
{
	bool differs = path->count != count || !path->done;

	for (uint32_t i = 0; i < count && !differs; i++)
		differs = path->links[i].neighbour != links[i].neighbour || path->links[i].weight != links[i].weight;
	free(path->links);
	*path = (struct path){.done = true, .logged = path->logged, .why = why, .count = count, .links = links};
	return differs;
}

bool path_is_usable(const struct path *path)
{
	for (uint32_t i = 0; i < path->count; i++)
		if (neighbour_mac(path->links[i].neighbour))
			return true;
	return false;
}

static void fill_path(const struct path *path, struct next_hop *next_hops)
{
	for (uint32_t i = 0; i < path->count; i++)
		next_hops[i] = (struct next_hop){
			.id = path->links[i].neighbour->id,
			.mac = neighbour_mac(path->links[i].neighbour),
			.weight = path->links[i].weight,
		};
}

const struct neighbour *path_choose(const struct path *path, uint16_t source_port)
{
	struct next_hop *next_hops = calloc(path->count + 1, sizeof(*next_hops));
	struct next_hops *set = NULL;
	uint64_t number = 0;

	if (next_hops && path->count) {
		fill_path(path, next_hops);
		/* The number of the link takes the place of its MAC, because two links may have the same MAC. */
		for (uint32_t i = 0; i < path->count; i++)
			next_hops[i].mac = next_hops[i].mac ? i + 1 : 0;
		set = next_hops_create(&(struct next_hop_list){next_hops, path->count}, 1);
	}
	if (set)
		number = next_hops_find(set, 0, source_port);
	next_hops_free(set);
	free(next_hops);
	return number ? path->links[number - 1].neighbour : NULL;
}

/*
 * Writes the next hops of each path to `next_hops`, one path after the other, and where they are to `of_destination`. A
 * path without next hops gets one without a MAC, because a list without next hops belongs to a backend that no packet
 * goes to.
 */
static void fill(const struct destinations *destinations, uint32_t port, struct next_hop *next_hops,
	struct next_hop_list *of_destination)
{
	for (uint32_t i = 0; i < destinations->count; i++) {
		const struct path *path = &destinations->paths[(size_t)i * destinations->ports + port];

		of_destination[i] = (struct next_hop_list){next_hops, path->count ? path->count : 1};
		if (!path->count)
			*next_hops = (struct next_hop){.weight = 1};
		fill_path(path, next_hops);
		next_hops += of_destination[i].count;
	}
}

static size_t count_links(const struct destinations *destinations, uint32_t port)
{
	size_t count = 0;

	for (uint32_t i = 0; i < destinations->count; i++)
		count += destinations->paths[(size_t)i * destinations->ports + port].count;
	return count;
}

struct next_hops *destinations_build(const struct destinations *destinations, const struct routes *routes, uint32_t port)
{
	struct next_hop *next_hops =
		calloc(count_links(destinations, port) + destinations->count + 1, sizeof(*next_hops));
	struct next_hop_list *of_destination = calloc(destinations->count + 1, sizeof(*of_destination));
	struct next_hop_list *lists = calloc(routes->address_count + 1, sizeof(*lists));
	struct next_hops *result = NULL;

	if (next_hops && of_destination && lists) {
		fill(destinations, port, next_hops, of_destination);
		for (uint32_t i = 0; i < routes->address_count; i++) {
			const struct netaddr address = routes_address(routes, i);
			const struct path *path = destinations_path(destinations, &address, port);

			if (path)
				lists[i] = of_destination[(size_t)(path - destinations->paths) / destinations->ports];
		}
		result = next_hops_create(lists, routes->address_count);
	}
	free(next_hops);
	free(of_destination);
	free(lists);
	return result;
}
