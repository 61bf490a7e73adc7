/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefixes nest or are disjoint. So one walk over the sorted prefixes of both sets, with a stack of those that are
 * open, meets each range of addresses that the same binds cover. A prefix keeps only the ports for which its binds
 * differ from those of the prefixes around it, so that many prefixes inside a prefix with many binds take no time for
 * the latter. The classifier knows the first bind of each set for each prefix and port.
 */
#include "cli/diff/bind_diff.h"

#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/progress.h"
#include "common/array.h"
#include "table/classify.h"

#define PORTS     65536
#define MAX_DEPTH 130 /* prefix lengths of IPv6, and one more */

typedef unsigned __int128 address;

/* Ports for which a bind is the first one of its set that has this prefix. */
struct item {
	address first, last; /* host order */
	uint32_t port_start, port_end;
	uint32_t rank; /* place in the set; the lowest rank wins */
	uint16_t table;
	uint8_t protocol, family, side;
};

/* Ports at which the same binds match: the first of each set. NULL: none does. */
struct segment {
	uint32_t start, end;
	const struct item *winners[2];
};

/* An open prefix. */
struct frame {
	const struct item *item; /* one of the items with this prefix */
	/* The first of its segments, and their number. They are sorted, and have gaps unless `whole`. */
	size_t segment, segments;
	size_t chain; /* number of its segments and those of the prefixes around it, up to a whole one */
	bool whole; /* its segments have all ports, else those that its items match at least */
	bool has_child, has_gap;
	address next; /* the first address after the last child */
	bool any_inherited; /* else `inherited` is not valid */
	/* One byte for each port, 1: at some addresses of children, the winners are of this prefix or of one
	 * around it */
	uint8_t *inherited;
};

struct walk {
	struct bind_diff *diff;
	struct item *items; /* of both sets */
	struct segment *segments; /* of the open prefixes, the widest first */
	size_t segment_count, segment_room;
	struct frame *frames; /* room for MAX_DEPTH */
	uint32_t depth;
	uint8_t *inherited; /* PORTS for each frame */
};

static address load_address(const struct netaddr *addr)
{
	address value = 0;

	for (unsigned i = 0; i < netaddr_size(addr); i++)
		value = value << 8 | addr->bytes[i];
	return value;
}

static struct item item_of(const struct netprefix *prefix)
{
	unsigned host_bits = netaddr_bits(&prefix->addr) - prefix->length;
	address first = load_address(&prefix->addr);
	address mask = host_bits == 128 ? ~(address)0 : ((address)1 << host_bits) - 1;

	return (struct item){.first = first, .last = first | mask, .family = prefix->addr.family};
}

static int compare_prefixes(const struct item *x, const struct item *y)
{
	if (x->protocol != y->protocol)
		return (int)x->protocol - y->protocol;
	if (x->family != y->family)
		return (int)x->family - y->family;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->last < y->last) - (x->last > y->last);
}

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = compare_prefixes(x, y);

	return order ? order : (x->port_start > y->port_start) - (x->port_start < y->port_start);
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

/* Sets *segment to the winners of the open prefixes at segment->start, and to the last port up to which they are the
 * same. */
static void find_around(const struct walk *walk, struct segment *segment)
{
	segment->end = PORTS - 1;
	segment->winners[0] = segment->winners[1] = NULL;
	for (uint32_t depth = walk->depth; depth-- > 0;) {
		const struct frame *frame = &walk->frames[depth];
		const struct segment *segments = walk->segments + frame->segment;
		size_t low; /* segments before `low` start at the port or before it */

		ARRAY_BISECT(low, frame->segments, segments[low].start <= segment->start);
		if (low < frame->segments && segments[low].start <= segment->end)
			segment->end = segments[low].start - 1;
		if (low == 0 || segments[low - 1].end < segment->start)
			continue;
		if (segments[low - 1].end < segment->end)
			segment->end = segments[low - 1].end;
		segment->winners[0] = segments[low - 1].winners[0];
		segment->winners[1] = segments[low - 1].winners[1];
		return;
	}
}

static void append(struct walk *walk, struct frame *frame, const struct segment *segment)
{
	struct segment *last = frame->segments ? &walk->segments[walk->segment_count - 1] : NULL;

	if (last && last->end + 1 == segment->start && last->winners[0] == segment->winners[0] &&
		last->winners[1] == segment->winners[1]) {
		last->end = segment->end;
		return;
	}
	if (walk->segment_count == walk->segment_room) {
		walk->segment_room = 2 * walk->segment_room + 64;
		walk->segments = alloc_grown(walk->segments, walk->segment_room, sizeof(*walk->segments));
	}
	walk->segments[walk->segment_count++] = *segment;
	frame->segments++;
}

/* Adds the segments of a prefix that is not open yet. items: those with this prefix. */
static void add_segments(struct walk *walk, struct frame *frame, const struct item *items, uint32_t count)
{
	uint32_t next = 0, port = frame->whole ? 0 : items[0].port_start;
	const struct item *last[2] = {NULL, NULL};

	while (port < PORTS) {
		struct segment segment = {.start = port};
		bool matches = frame->whole;

		for (; next < count && items[next].port_start == port; next++)
			last[items[next].side] = &items[next];
		find_around(walk, &segment);
		for (int side = 0; side < 2; side++) {
			const struct item *own = last[side] && last[side]->port_end >= port ? last[side] : NULL;

			matches |= own != NULL;
			if (!own || (segment.winners[side] && segment.winners[side]->rank < own->rank))
				continue;
			segment.winners[side] = own;
			segment.end = own->port_end < segment.end ? own->port_end : segment.end;
		}
		if (!matches && next == count)
			break;
		if (next < count && (!matches || items[next].port_start <= segment.end))
			segment.end = items[next].port_start - 1;
		if (matches)
			append(walk, frame, &segment);
		port = segment.end + 1;
	}
}

/* Tells the prefix around a closed one at which ports some addresses of the latter have winners from outside. visible:
 * of the closed prefix, there are addresses that no child has. */
static void pass_up(const struct walk *walk, struct frame *parent, const struct frame *frame, bool visible)
{
	const struct segment *segments = walk->segments + frame->segment;
	uint32_t port = 0;

	if (!parent->any_inherited)
		memset(parent->inherited, 0, PORTS);
	parent->any_inherited = true;
	for (size_t i = 0; i <= frame->segments; i++) {
		uint32_t end = i < frame->segments ? segments[i].start : PORTS;

		if (visible)
			memset(parent->inherited + port, 1, end - port);
		for (; port < end && !visible && frame->any_inherited; port++)
			parent->inherited[port] |= frame->inherited[port];
		port = i < frame->segments ? segments[i].end + 1 : end;
	}
}

/* Closes the innermost prefix, whose children are closed. */
static void close_frame(struct walk *walk)
{
	struct frame *frame = &walk->frames[--walk->depth], *parent = walk->depth ? frame - 1 : NULL;
	/* If the children cover all of its addresses, its binds match only where those of a child do not. */
	bool visible = !frame->has_child || frame->has_gap || frame->next != frame->item->last + 1;

	for (size_t i = 0; i < frame->segments; i++) {
		const struct segment *segment = &walk->segments[frame->segment + i];

		if (visible || (frame->any_inherited &&
				       memchr(frame->inherited + segment->start, 1, segment->end - segment->start + 1)))
			note(walk->diff, segment->winners);
	}
	if (parent && !parent->has_gap && !frame->whole)
		pass_up(walk, parent, frame, visible);
	walk->segment_count = frame->segment;
}

static bool is_inside(const struct item *outer, const struct item *inner)
{
	return outer->protocol == inner->protocol && outer->family == inner->family && outer->first <= inner->first &&
	       inner->last <= outer->last;
}

/* Opens the prefix of `count` items. */
static void open_prefix(struct walk *walk, const struct item *items, uint32_t count)
{
	struct frame *top, *frame;
	size_t chain;

	while (walk->depth > 0 && !is_inside(walk->frames[walk->depth - 1].item, items))
		close_frame(walk);
	top = walk->depth > 0 ? &walk->frames[walk->depth - 1] : NULL;
	if (top) {
		top->has_gap |= items->first != (top->has_child ? top->next : top->item->first);
		top->has_child = true;
		top->next = items->last + 1;
	}
	chain = top ? top->chain : 0;
	frame = &walk->frames[walk->depth];
	*frame = (struct frame){
		.item = items,
		.segment = walk->segment_count,
		.whole = chain / 8 <= count,
		.inherited = walk->inherited + (size_t)walk->depth * PORTS,
	};
	add_segments(walk, frame, items, count);
	frame->chain = frame->segments + (frame->whole ? 0 : chain);
	walk->depth++;
}

static void walk_items(struct walk *walk, uint32_t count)
{
	uint32_t end;

	for (uint32_t at = 0; at < count; at = end) {
		progress("compared binds", at, count);
		end = at + 1;
		while (end < count && compare_prefixes(&walk->items[at], &walk->items[end]) == 0)
			end++;
		open_prefix(walk, &walk->items[at], end - at);
	}
	while (walk->depth > 0)
		close_frame(walk);
}

static void collect(struct walk *walk, uint32_t *count, const struct table_set *set, uint8_t side)
{
	struct classifier *classifier = classify_build(set);
	uint32_t prefixes = classifier ? classify_prefix_count(classifier) : 0, first[TABLE_MAX_TABLES] = {0};

	if (!classifier)
		alloc_failed();
	for (uint32_t t = 1; t < set->count; t++)
		first[t] = first[t - 1] + set->tables[t - 1].bind_count;
	for (uint32_t i = 0; i < 2 * prefixes; i++) {
		struct classify_prefix prefix = classify_prefix_at(classifier, i / 2);
		bool matches = prefix.prefix.addr.family != NETADDR_NONE;

		for (uint32_t n = 0; matches && n < prefix.bind_counts[i % 2]; n++) {
			const struct classify_bind_range *range = &prefix.binds[i % 2][n];
			struct item *item = &walk->items[(*count)++];
			int number = (int)range->number;

			*item = item_of(&prefix.prefix);
			item->side = side;
			item->protocol = i % 2;
			item->port_start = range->start;
			item->port_end = range->end;
			item->table = (uint16_t)classify_table(number);
			item->rank = first[item->table] + classify_bind(number);
		}
	}
	classify_free(classifier);
}

void bind_diff_create(struct bind_diff *diff, const struct table_set *before, const struct table_set *after)
{
	uint32_t old = table_set_totals(before).binds, new = table_set_totals(after).binds, count = 0;
	struct walk walk = {
		.diff = diff,
		.items = alloc_zeroed(2 * ((size_t)old + new), sizeof(*walk.items)),
		.frames = alloc_zeroed(MAX_DEPTH, sizeof(*walk.frames)),
		.inherited = alloc_zeroed(MAX_DEPTH, PORTS),
	};

	diff->fates[0] = alloc_zeroed(old, sizeof(*diff->fates[0]));
	diff->fates[1] = alloc_zeroed(new, sizeof(*diff->fates[1]));
	collect(&walk, &count, before, 0);
	collect(&walk, &count, after, 1);
	qsort(walk.items, count, sizeof(*walk.items), compare_items);
	walk_items(&walk, count);
	free(walk.items);
	free(walk.segments);
	free(walk.frames);
	free(walk.inherited);
}

void bind_diff_free(struct bind_diff *diff)
{
	for (int side = 0; side < 2; side++)
		free(diff->fates[side]);
	*diff = (struct bind_diff){0};
}
