/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefixes nest or are disjoint. So if binds are sorted by protocol, address and length, those inside a prefix follow
 * it, and those around it are found by their length.
 */
#include "table/table_bind_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

struct table_bind_index_item {
	const struct table_bind *bind;
	uint32_t table;
};

/* Both addresses are included, and have one family. */
struct table_bind_index_range {
	struct netaddr first, last;
};

static int compare_items(const void *a, const void *b)
{
	const struct table_bind_index_item *x = a, *y = b;
	int order = table_bind_compare(x->bind, y->bind);

	return order ? order : (x->table > y->table) - (x->table < y->table);
}

static int compare_ranges(const void *a, const void *b)
{
	return netaddr_compare(
		&((const struct table_bind_index_range *)a)->first, &((const struct table_bind_index_range *)b)->first);
}

static struct table_bind_index_range range_of(const struct netprefix *prefix)
{
	struct table_bind_index_range range = {prefix->addr, prefix->addr};

	for (unsigned bit = prefix->length; bit < netaddr_bits(&prefix->addr); bit++)
		range.last.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	return range;
}

/* True if `next` is the address after `addr`. */
static bool follows(const struct netaddr *addr, const struct netaddr *next)
{
	struct netaddr after = *addr;

	for (unsigned at = netaddr_size(addr); at > 0 && ++after.bytes[at - 1] == 0; at--)
		;
	return netaddr_compare(&after, next) == 0;
}

/* Merges the sorted ranges that overlap or touch. */
static void merge_ranges(struct table_bind_index *index)
{
	size_t count = 0;

	for (size_t i = 0; i < index->count; i++) {
		const struct table_bind_index_range *range = &index->ranges[i];
		struct table_bind_index_range *last = count ? &index->ranges[count - 1] : NULL;

		if (!last || (netaddr_compare(&range->first, &last->last) > 0 && !follows(&last->last, &range->first)))
			index->ranges[count++] = *range;
		else if (netaddr_compare(&range->last, &last->last) > 0)
			last->last = range->last;
	}
	index->range_count = count;
}

/* A bind that a table has twice is one item. */
static void drop_repeated_items(struct table_bind_index *index)
{
	size_t count = 0;

	for (size_t i = 0; i < index->count; i++)
		if (count == 0 || compare_items(&index->items[count - 1], &index->items[i]) != 0)
			index->items[count++] = index->items[i];
	index->count = count;
}

int table_bind_index_open(struct table_bind_index *index, const struct table_set *set)
{
	size_t count = table_set_totals(set).binds;

	*index = (struct table_bind_index){
		.items = calloc(count + 1, sizeof(*index->items)),
		.ranges = calloc(count + 1, sizeof(*index->ranges)),
	};
	if (!index->items || !index->ranges) {
		table_bind_index_close(index);
		return -ENOMEM;
	}
	for (uint32_t t = 0; t < set->count; t++) {
		for (uint32_t i = 0; i < set->tables[t].bind_count; i++) {
			const struct table_bind *bind = &set->tables[t].binds[i];

			index->lengths[bind->prefix.addr.family][bind->prefix.length] = 1;
			index->ranges[index->count] = range_of(&bind->prefix);
			index->items[index->count++] = (struct table_bind_index_item){bind, t};
		}
	}
	qsort(index->items, index->count, sizeof(*index->items), compare_items);
	qsort(index->ranges, index->count, sizeof(*index->ranges), compare_ranges);
	merge_ranges(index);
	drop_repeated_items(index);
	return 0;
}

void table_bind_index_close(struct table_bind_index *index)
{
	free(index->items);
	free(index->ranges);
	*index = (struct table_bind_index){0};
}

enum table_cover table_bind_index_cover(const struct table_bind_index *index, const struct netprefix *prefix)
{
	struct table_bind_index_range range = range_of(prefix);
	size_t low;

	/* Find the first range that ends at the prefix's first address or after it. */
	ARRAY_BISECT(low, index->range_count, netaddr_compare(&index->ranges[low].last, &range.first) < 0);
	if (low == index->range_count || netaddr_compare(&index->ranges[low].first, &range.last) > 0)
		return TABLE_COVER_NONE;
	if (netaddr_compare(&index->ranges[low].first, &range.first) <= 0 &&
		netaddr_compare(&index->ranges[low].last, &range.last) >= 0)
		return TABLE_COVER_ALL;
	return TABLE_COVER_PART;
}

static bool ports_overlap(const struct table_bind *a, const struct table_bind *b)
{
	return a->port_start <= b->port_end && b->port_start <= a->port_end;
}

/* Adds the tables whose binds match a packet of `bind`, the widest prefixes first. */
static void add_overlapping(
	const struct table_bind_index *index, const struct table_bind *bind, uint32_t *looks, struct table_mask *tables)
{
	const struct netprefix *prefix = &bind->prefix;
	struct table_bind key = *bind;
	size_t at;

	for (unsigned length = 0; length <= prefix->length; length++) {
		if (!index->lengths[prefix->addr.family][length] && length < prefix->length)
			continue;
		key.prefix = (struct netprefix){prefix->addr, (uint8_t)length};
		netprefix_mask(key.prefix.addr.bytes, netaddr_size(&prefix->addr), length);
		ARRAY_BISECT(at, index->count, table_bind_compare_prefixes(index->items[at].bind, &key) < 0);
		for (; at < index->count; at++) {
			const struct table_bind_index_item *item = &index->items[at];
			bool inside = length == prefix->length && table_bind_contains(bind, item->bind);

			if (!inside && table_bind_compare_prefixes(item->bind, &key) != 0)
				break;
			if (*looks == 0)
				return;
			--*looks;
			if (ports_overlap(item->bind, bind))
				table_mask_add(tables, item->table);
		}
	}
}

void table_bind_index_tables(
	const struct table_bind_index *index, const struct table_bind *bind, uint32_t *looks, struct table_mask *tables)
{
	size_t first, at;

	ARRAY_BISECT(first, index->count, table_bind_compare(index->items[first].bind, bind) < 0);
	for (at = first; at < index->count && table_bind_compare(index->items[at].bind, bind) == 0; at++)
		table_mask_add(tables, index->items[at].table);
	if (at == first)
		add_overlapping(index, bind, looks, tables);
}
