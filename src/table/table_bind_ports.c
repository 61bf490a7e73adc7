/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sweep over the ports. A segment tree over the addresses counts the binds of the new set that are open at the
 * current port, and remembers for each address the last port at which there was none. A bind of the old set has lost
 * packets if, at its last port, one of its addresses was without an open bind at its first port or later.
 */
#include "table/table_bind_ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NEVER (-1) /* no port */

/* The place between two addresses of a protocol. Places sort as their bytes do: protocol, family, 1 after the last
 * address, address. */
struct edge {
	uint8_t bytes[3 + 16];
};

/* A range of addresses: from one edge to another one. */
struct range {
	const struct table_bind *bind;
	uint32_t from, to;
};

struct node {
	int32_t count; /* open binds of exactly this node's addresses */
	int32_t min; /* count, and the smaller min of the children */
	int32_t last; /* the last port at which one of these addresses had no open bind, as far as this node was told */
	int32_t stamp; /* the same for the addresses that have `min`; the children do not know it yet */
};

struct sweep {
	size_t edge_count, leaves, old_count, new_count;
	struct edge *edges; /* sorted, each once */
	struct range *ranges; /* of the new set, then of the old one */
	struct node *nodes; /* 1 is the root, leaves + i the addresses between the edges i and i + 1 */
	uint64_t *events;
	bool *lost;
};

/* In the order in which the events of one port happen. */
enum event {
	EVENT_OPEN,
	EVENT_CLOSE,
	EVENT_ASK,
};

static uint64_t event(uint32_t port, enum event kind, size_t range)
{
	return (uint64_t)port << 40 | (uint64_t)kind << 32 | range;
}

static int compare_events(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int compare_edges(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct edge));
}

static void find_edges(const struct table_bind *bind, struct edge *from, struct edge *to)
{
	const struct netaddr *addr = &bind->prefix.addr;
	unsigned at = netaddr_size(addr);

	*from = (struct edge){{bind->protocol, addr->family}};
	memcpy(from->bytes + 3, addr->bytes, at);
	*to = *from;
	for (unsigned bit = bind->prefix.length; bit < netaddr_bits(addr); bit++)
		to->bytes[3 + bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	while (++to->bytes[2 + at] == 0)
		at--;
}

static uint32_t find_edge(const struct sweep *sweep, const struct edge *edge)
{
	const struct edge *found = bsearch(edge, sweep->edges, sweep->edge_count, sizeof(*sweep->edges), compare_edges);

	return (uint32_t)(found - sweep->edges);
}

static void stamp(struct node *node, int32_t port)
{
	node->last = node->stamp = port;
}

/* Tells the children what the node knows. Before a change below the node, because the stamp is about the addresses that
 * have `min` now. */
static void push(struct sweep *sweep, size_t at)
{
	struct node *node = &sweep->nodes[at], *children = &sweep->nodes[2 * at];

	for (int i = 0; i < 2 && node->stamp != NEVER; i++)
		if (children[i].min == node->min - node->count)
			stamp(&children[i], node->stamp);
	node->stamp = NEVER;
}

/* The node `at` has the leaves from `low` up to, but without, `high`. */
static void add(struct sweep *sweep, size_t at, size_t low, size_t high, const struct range *range, int change)
{
	struct node *node = &sweep->nodes[at], *children = &sweep->nodes[2 * at];

	if (range->to <= low || high <= range->from)
		return;
	if (range->from <= low && high <= range->to) {
		node->count += change;
		node->min += change;
		return;
	}
	push(sweep, at);
	add(sweep, 2 * at, low, (low + high) / 2, range, change);
	add(sweep, 2 * at + 1, (low + high) / 2, high, range, change);
	node->min = node->count + (children[0].min < children[1].min ? children[0].min : children[1].min);
}

/* Returns the last port at which an address of the range had no open bind. */
static int32_t last_gap(struct sweep *sweep, size_t at, size_t low, size_t high, const struct range *range)
{
	int32_t left, right;

	if (range->to <= low || high <= range->from)
		return NEVER;
	if (range->from <= low && high <= range->to)
		return sweep->nodes[at].last;
	push(sweep, at);
	left = last_gap(sweep, 2 * at, low, (low + high) / 2, range);
	right = last_gap(sweep, 2 * at + 1, (low + high) / 2, high, range);
	return left > right ? left : right;
}

static void table_bind_ports_run(struct sweep *sweep)
{
	struct node *root = &sweep->nodes[1];
	size_t count = 2 * sweep->new_count + sweep->old_count;
	int32_t port = 0;

	qsort(sweep->events, count, sizeof(*sweep->events), compare_events);
	for (size_t i = 0; i < count; i++) {
		enum event kind = (enum event)(sweep->events[i] >> 32 & 0xff);
		size_t number = (uint32_t)sweep->events[i];
		const struct range *range = &sweep->ranges[number];
		int32_t now = (int32_t)(sweep->events[i] >> 40);

		/* Nothing has changed since the events of `port`, up to the port before this one. */
		if (now > port && root->min == 0)
			stamp(root, now - 1);
		port = now;
		if (kind == EVENT_ASK && root->min == 0)
			stamp(root, now);
		if (kind == EVENT_ASK)
			sweep->lost[number - sweep->new_count] =
				last_gap(sweep, 1, 0, sweep->leaves, range) >= range->bind->port_start;
		else
			add(sweep, 1, 0, sweep->leaves, range, kind == EVENT_OPEN ? 1 : -1);
	}
}

/* Fills the ranges of a set, whose edges are not numbered yet, and the edges. */
static void collect(struct sweep *sweep, const struct table_set *set, size_t *count)
{
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t i = 0; i < set->tables[t].bind_count; i++) {
			const struct table_bind *bind = &set->tables[t].binds[i];

			sweep->ranges[(*count)++].bind = bind;
			find_edges(bind, &sweep->edges[sweep->edge_count], &sweep->edges[sweep->edge_count + 1]);
			sweep->edge_count += 2;
		}
}

static void sort_edges(struct sweep *sweep)
{
	size_t count = 0;

	qsort(sweep->edges, sweep->edge_count, sizeof(*sweep->edges), compare_edges);
	for (size_t i = 0; i < sweep->edge_count; i++)
		if (count == 0 || compare_edges(&sweep->edges[count - 1], &sweep->edges[i]) != 0)
			sweep->edges[count++] = sweep->edges[i];
	sweep->edge_count = count;
}

static void plan_events(struct sweep *sweep, size_t count)
{
	uint64_t *events = sweep->events;

	for (size_t i = 0; i < count; i++) {
		struct range *range = &sweep->ranges[i];
		struct edge from, to;

		find_edges(range->bind, &from, &to);
		range->from = find_edge(sweep, &from);
		range->to = find_edge(sweep, &to);
		if (i < sweep->new_count) {
			*events++ = event(range->bind->port_start, EVENT_OPEN, i);
			*events++ = event(range->bind->port_end + 1u, EVENT_CLOSE, i);
		} else {
			*events++ = event(range->bind->port_end, EVENT_ASK, i);
		}
	}
}

int table_bind_ports_lost(const struct table_set *old, const struct table_set *new, bool *lost)
{
	struct sweep sweep = {.old_count = table_set_totals(old).binds,
		.new_count = table_set_totals(new).binds,
		.leaves = 1,
		.lost = lost};
	size_t all = sweep.old_count + sweep.new_count, count = 0;
	int error = -ENOMEM;

	while (sweep.leaves < 2 * all + 1)
		sweep.leaves *= 2;
	sweep.edges = calloc(2 * all + 1, sizeof(*sweep.edges));
	sweep.ranges = calloc(all + 1, sizeof(*sweep.ranges));
	sweep.nodes = calloc(2 * sweep.leaves, sizeof(*sweep.nodes));
	sweep.events = calloc(2 * all + 1, sizeof(*sweep.events));
	if (sweep.edges && sweep.ranges && sweep.nodes && sweep.events) {
		for (size_t i = 0; i < 2 * sweep.leaves; i++)
			sweep.nodes[i].last = sweep.nodes[i].stamp = NEVER;
		collect(&sweep, new, &count);
		collect(&sweep, old, &count);
		sort_edges(&sweep);
		plan_events(&sweep, all);
		table_bind_ports_run(&sweep);
		error = 0;
	}
	free(sweep.edges);
	free(sweep.ranges);
	free(sweep.nodes);
	free(sweep.events);
	return error;
}
