/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefixes nest or are disjoint. So if binds are sorted by protocol, address and length, those inside a prefix follow
 * it, and those around it are found by their length.
 */
#include "table/table_bind_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COMPARED_MAX 4096

struct table_bind_index_item {
	const struct table_bind *bind;
	uint32_t table;
};

/* Both addresses are included, and have one family. */
struct table_bind_index_range {
	struct netaddr first, last;
};

static int compare_prefixes(const struct netprefix *a, const struct netprefix *b)
{
	int order = netaddr_compare(&a->addr, &b->addr);

	return order ? order : (int)a->length - b->length;
}

static int compare_binds(const struct table_bind *a, const struct table_bind *b)
{
	int order = (int)a->protocol - b->protocol;

	return order ? order : compare_prefixes(&a->prefix, &b->prefix);
}

static int compare_items(const void *a, const void *b)
{
	return compare_binds(
		((const struct table_bind_index_item *)a)->bind, ((const struct table_bind_index_item *)b)->bind);
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

int table_bind_index_open(struct table_bind_index *index, const struct table_set *set)
{
	size_t count = 0;

	for (uint32_t t = 0; t < set->count; t++)
		count += set->tables[t].bind_count;
	*index = (struct table_bind_index){
		.items = calloc(count + 1, sizeof(*index->items)),
		.found = calloc(count + 1, sizeof(struct table_bind_index_item *)),
		.ranges = calloc(count + 1, sizeof(*index->ranges)),
	};
	if (!index->items || !index->found || !index->ranges) {
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
	return 0;
}

void table_bind_index_close(struct table_bind_index *index)
{
	free(index->items);
	free(index->found);
	free(index->ranges);
	*index = (struct table_bind_index){0};
}

enum table_cover table_bind_index_cover(const struct table_bind_index *index, const struct netprefix *prefix)
{
	struct table_bind_index_range range = range_of(prefix);
	size_t low = 0, high = index->range_count;

	/* Find the first range that ends at the prefix's first address or after it. */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (netaddr_compare(&index->ranges[middle].last, &range.first) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->range_count || netaddr_compare(&index->ranges[low].first, &range.last) > 0)
		return TABLE_COVER_NONE;
	if (netaddr_compare(&index->ranges[low].first, &range.first) <= 0 &&
		netaddr_compare(&index->ranges[low].last, &range.last) >= 0)
		return TABLE_COVER_ALL;
	return TABLE_COVER_PART;
}

/* Returns the position of the first bind with this protocol and prefix, or of the next one. */
static size_t find(const struct table_bind_index *index, const struct table_bind *bind)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_binds(index->items[middle].bind, bind) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool ports_overlap(const struct table_bind *a, const struct table_bind *b)
{
	return a->port_start <= b->port_end && b->port_start <= a->port_end;
}

/* Fills index->found with the binds that match a packet of `bind`, the widest prefixes first. Returns their number. */
static size_t find_overlaps(struct table_bind_index *index, const struct table_bind *bind)
{
	const struct netprefix *prefix = &bind->prefix;
	struct table_bind key = *bind;
	size_t count = 0;

	for (unsigned length = 0; length <= prefix->length; length++) {
		if (!index->lengths[prefix->addr.family][length] && length < prefix->length)
			continue;
		key.prefix = (struct netprefix){prefix->addr, (uint8_t)length};
		netprefix_mask(key.prefix.addr.bytes, netaddr_size(&prefix->addr), length);
		for (size_t at = find(index, &key); at < index->count; at++) {
			struct table_bind_index_item *item = &index->items[at];
			bool inside = length == prefix->length && item->bind->protocol == bind->protocol &&
				      netprefix_covers(prefix, &item->bind->prefix.addr);

			if (!inside && compare_binds(item->bind, &key) != 0)
				break;
			if (ports_overlap(item->bind, bind))
				index->found[count++] = item;
		}
	}
	return count;
}

static bool is_equal(const struct table_bind *a, const struct table_bind *b)
{
	return compare_binds(a, b) == 0 && a->port_start == b->port_start && a->port_end == b->port_end;
}

void table_bind_index_tables(struct table_bind_index *index, const struct table_bind *bind, struct table_mask *tables)
{
	size_t count = find_overlaps(index, bind);
	bool any_equal = false;

	for (size_t i = 0; i < count; i++) {
		if (!is_equal(index->found[i]->bind, bind))
			continue;
		table_mask_add(tables, index->found[i]->table);
		any_equal = true;
	}
	for (size_t i = 0; !any_equal && i < count; i++)
		table_mask_add(tables, index->found[i]->table);
}

/* The packets of a bind whose prefix and ports get smaller while the binds that were found are compared with them. */
static bool is_matched(const struct table_bind_index *index, size_t count, const struct table_bind *packets)
{
	struct table_bind part = *packets;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct table_bind *bind = index->found[i]->bind;

		if (!ports_overlap(bind, packets))
			continue;
		if (bind->prefix.length <= packets->prefix.length &&
			netprefix_covers(&bind->prefix, &packets->prefix.addr)) {
			if (bind->port_start > packets->port_start) {
				part.port_end = (uint16_t)(bind->port_start - 1);
				if (!is_matched(index, count, &part))
					return false;
			}
			part = *packets;
			part.port_start = (uint16_t)(bind->port_end + 1);
			return bind->port_end >= packets->port_end || is_matched(index, count, &part);
		}
		any |= netprefix_covers(&packets->prefix, &bind->prefix.addr);
	}
	if (!any)
		return false;
	/* Every bind that is left is narrower than the prefix, which therefore has two halves. */
	part.prefix.length++;
	if (!is_matched(index, count, &part))
		return false;
	part.prefix.addr.bytes[packets->prefix.length / 8] |= (uint8_t)(0x80 >> packets->prefix.length % 8);
	return is_matched(index, count, &part);
}

bool table_bind_index_has_ports(struct table_bind_index *index, const struct table_bind *bind)
{
	size_t count = find_overlaps(index, bind);

	return count > COMPARED_MAX || is_matched(index, count, bind);
}
