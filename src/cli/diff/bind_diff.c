/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefixes nest or are disjoint. So one walk over the sorted prefixes of both sets, with a stack of those that are
 * open, meets each range of addresses that the same binds cover. For each such range a sweep over the ports finds the
 * first bind of each set that matches.
 */
#include "cli/diff/bind_diff.h"

#include <stdlib.h>

#define MAX_DEPTH 130 /* prefix lengths of IPv6, and one more */

typedef unsigned __int128 address;

struct item {
	address first, last; /* host order */
	uint32_t port_start, port_end;
	uint32_t rank; /* place in the set; the lowest rank wins */
	uint16_t table;
	uint8_t protocol, family, side;
};

/* An open prefix. */
struct frame {
	const struct item *item; /* one of the items with this prefix */
	uint32_t parents; /* number of items of the prefixes around it */
	bool has_child, has_gap;
	address next; /* the first address after the last child */
};

struct walk {
	struct bind_diff *diff;
	struct item *items; /* of both sets */
	const struct item **open; /* items of the open prefixes, the widest first */
	uint32_t open_count;
	const struct item **by_start; /* for sweep_ports() */
	const struct item **active; /* for sweep_ports() */
	uint32_t *ports; /* for sweep_ports() */
	struct frame frames[MAX_DEPTH];
	uint32_t depth;
};

static address load_address(const struct netaddr *addr)
{
	address value = 0;

	for (unsigned i = 0; i < netaddr_size(addr); i++)
		value = value << 8 | addr->bytes[i];
	return value;
}

static struct item item_of(const struct table_bind *bind)
{
	unsigned host_bits = netaddr_bits(&bind->prefix.addr) - bind->prefix.length;
	address first = load_address(&bind->prefix.addr);
	address mask = host_bits == 128 ? ~(address)0 : ((address)1 << host_bits) - 1;

	return (struct item){
		.first = first,
		.last = first | mask,
		.port_start = bind->port_start,
		.port_end = bind->port_end,
		.protocol = bind->protocol,
		.family = bind->prefix.addr.family,
	};
}

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->protocol != y->protocol)
		return (int)x->protocol - y->protocol;
	if (x->family != y->family)
		return (int)x->family - y->family;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->last < y->last) - (x->last > y->last);
}

static int compare_starts(const void *a, const void *b)
{
	const struct item *const *x = a, *const *y = b;

	return ((*x)->port_start > (*y)->port_start) - ((*x)->port_start < (*y)->port_start);
}

static int compare_ports(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Notes that the same packets belong to both binds; NULL: no bind of that set matches them. */
static void note(struct bind_diff *diff, const struct item *const winners[2])
{
	for (int side = 0; side < 2; side++) {
		const struct item *own = winners[side], *other = winners[!side];

		if (own && other)
			table_mask_add(&diff->fates[side][own->rank].tables, other->table);
		else if (own)
			diff->fates[side][own->rank].nowhere = true;
	}
}

/* Removes the items that end before `port`. Returns how many are left, and sets the first match of both sets. */
static uint32_t find_winners(const struct item **active, uint32_t count, uint32_t port, const struct item *winners[2])
{
	uint32_t left = 0;

	winners[0] = winners[1] = NULL;
	for (uint32_t i = 0; i < count; i++) {
		const struct item *item = active[i];

		if (item->port_end < port)
			continue;
		active[left++] = item;
		if (!winners[item->side] || item->rank < winners[item->side]->rank)
			winners[item->side] = item;
	}
	return left;
}

/* All open items cover the same addresses. */
static void sweep_ports(struct walk *walk)
{
	uint32_t count = walk->open_count, next = 0, active = 0;
	const struct item *winners[2];

	for (uint32_t i = 0; i < count; i++) {
		walk->by_start[i] = walk->open[i];
		walk->ports[2 * i] = walk->open[i]->port_start;
		walk->ports[2 * i + 1] = walk->open[i]->port_end + 1;
	}
	qsort(walk->by_start, count, sizeof(*walk->by_start), compare_starts);
	qsort(walk->ports, 2 * (size_t)count, sizeof(*walk->ports), compare_ports);
	for (uint32_t i = 0; i < 2 * count; i++) {
		uint32_t port = walk->ports[i];

		if (i > 0 && port == walk->ports[i - 1])
			continue;
		while (next < count && walk->by_start[next]->port_start == port)
			walk->active[active++] = walk->by_start[next++];
		active = find_winners(walk->active, active, port, winners);
		note(walk->diff, winners);
	}
}

/* Closes the innermost prefix, whose children are closed. */
static void close_frame(struct walk *walk)
{
	const struct frame *frame = &walk->frames[--walk->depth];

	/* If the children cover all of its addresses, no packet belongs to this prefix itself. */
	if (!frame->has_child || frame->has_gap || frame->next != frame->item->last + 1)
		sweep_ports(walk);
	walk->open_count = frame->parents;
}

static bool is_inside(const struct item *outer, const struct item *inner)
{
	return outer->protocol == inner->protocol && outer->family == inner->family && outer->first <= inner->first &&
	       inner->last <= outer->last;
}

static void open_item(struct walk *walk, const struct item *item)
{
	struct frame *top;

	while (walk->depth > 0 && !is_inside(walk->frames[walk->depth - 1].item, item))
		close_frame(walk);
	top = walk->depth > 0 ? &walk->frames[walk->depth - 1] : NULL;
	if (!top || compare_items(top->item, item) != 0) {
		if (top) {
			top->has_gap |= item->first != (top->has_child ? top->next : top->item->first);
			top->has_child = true;
			top->next = item->last + 1;
		}
		walk->frames[walk->depth++] = (struct frame){.item = item, .parents = walk->open_count};
	}
	walk->open[walk->open_count++] = item;
}

static uint32_t collect(struct item *items, const struct table_set *set, uint8_t side)
{
	uint32_t count = 0, rank = 0;

	for (uint32_t t = 0; t < set->count; t++) {
		for (uint32_t i = 0; i < set->tables[t].bind_count; i++, rank++) {
			const struct table_bind *bind = &set->tables[t].binds[i];

			if (bind->prefix.addr.family == NETADDR_NONE)
				continue;
			items[count] = item_of(bind);
			items[count].side = side;
			items[count].table = (uint16_t)t;
			items[count++].rank = rank;
		}
	}
	return count;
}

static uint32_t count_binds(const struct table_set *set)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < set->count; t++)
		count += set->tables[t].bind_count;
	return count;
}

static bool walk_alloc(struct walk *walk, size_t count)
{
	walk->items = calloc(count, sizeof(*walk->items));
	walk->open = calloc(count, sizeof(*walk->open));
	walk->by_start = calloc(count, sizeof(*walk->by_start));
	walk->active = calloc(count, sizeof(*walk->active));
	walk->ports = calloc(2 * count, sizeof(*walk->ports));
	return walk->items && walk->open && walk->by_start && walk->active && walk->ports;
}

static void walk_free(struct walk *walk)
{
	free(walk->items);
	free(walk->open);
	free(walk->by_start);
	free(walk->active);
	free(walk->ports);
}

bool bind_diff_create(struct bind_diff *diff, const struct table_set *before, const struct table_set *after)
{
	uint32_t old = count_binds(before), new = count_binds(after), count;
	struct walk walk = {.diff = diff};
	bool done = walk_alloc(&walk, (size_t)old + new + 1);

	diff->fates[0] = calloc((size_t)old + 1, sizeof(*diff->fates[0]));
	diff->fates[1] = calloc((size_t) new + 1, sizeof(*diff->fates[1]));
	done = done && diff->fates[0] && diff->fates[1];
	if (done) {
		count = collect(walk.items, before, 0);
		count += collect(walk.items + count, after, 1);
		qsort(walk.items, count, sizeof(*walk.items), compare_items);
		for (uint32_t i = 0; i < count; i++)
			open_item(&walk, &walk.items[i]);
		while (walk.depth > 0)
			close_frame(&walk);
	} else {
		bind_diff_free(diff);
	}
	walk_free(&walk);
	return done;
}

void bind_diff_free(struct bind_diff *diff)
{
	for (int side = 0; side < 2; side++)
		free(diff->fates[side]);
	*diff = (struct bind_diff){0};
}
