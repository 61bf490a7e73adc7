/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The binds of the new set that have one protocol and prefix become spans: ranges of ports that do not touch. Prefixes
 * nest or are disjoint. So a port of an old bind has a span of its prefix, or of one around it, or else spans inside it
 * must have the port in both halves of the prefix.
 */
#include "table/table_bind_ports.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"

#define LOOKS 2 /* for each bind, on average: more are not compared, which only a set made for this needs */

struct spans {
	struct table_bind *items; /* sorted */
	size_t count;
	bool lengths[3][129]; /* by family: a span has a prefix of this length */
	uint64_t looks; /* that are left */
};

static int collect(struct spans *spans, const struct table_set *set)
{
	size_t count = 0;

	spans->items = calloc(table_set_totals(set).binds + 1, sizeof(*spans->items));
	if (!spans->items)
		return -ENOMEM;
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t i = 0; i < set->tables[t].bind_count; i++)
			spans->items[count++] = set->tables[t].binds[i];
	qsort(spans->items, count, sizeof(*spans->items), table_bind_compare);
	for (size_t i = 0; i < count; i++) {
		const struct table_bind *bind = &spans->items[i];
		struct table_bind *last = &spans->items[spans->count ? spans->count - 1 : 0];

		spans->lengths[bind->prefix.addr.family][bind->prefix.length] = true;
		if (!spans->count || table_bind_compare_prefixes(last, bind) != 0 || bind->port_start > last->port_end + 1)
			spans->items[spans->count++] = *bind;
		else if (bind->port_end > last->port_end)
			last->port_end = bind->port_end;
	}
	return 0;
}

/* Finds the span of exactly this prefix that has the first port of `part`. NULL: there is none, and no such span has
 * one of the ports of `part`, which loses its last ones for this. */
static const struct table_bind *find_span(
	const struct spans *spans, const struct netprefix *prefix, struct table_bind *part)
{
	struct table_bind key = *part;
	const struct table_bind *next;
	size_t after;

	key.prefix = *prefix;
	key.port_end = UINT16_MAX;
	ARRAY_BISECT(after, spans->count, table_bind_compare(&spans->items[after], &key) <= 0);
	next = &spans->items[after];
	if (after > 0 && table_bind_compare_prefixes(next - 1, &key) == 0 && next[-1].port_end >= part->port_start)
		return next - 1;
	if (after < spans->count && table_bind_compare_prefixes(next, &key) == 0 && next->port_start <= part->port_end)
		part->port_end = next->port_start - 1;
	return NULL;
}

/* The same for the prefix of `part` and those around it. */
static const struct table_bind *find_around(const struct spans *spans, struct table_bind *part)
{
	const struct table_bind *found = NULL;
	struct netprefix prefix = part->prefix;

	for (unsigned length = part->prefix.length + 1; length-- > 0 && !found;) {
		if (!spans->lengths[prefix.addr.family][length])
			continue;
		prefix.length = (uint8_t)length;
		netprefix_mask(prefix.addr.bytes, netaddr_size(&prefix.addr), length);
		found = find_span(spans, &prefix, part);
	}
	return found;
}

static bool has_inside(const struct spans *spans, const struct table_bind *part)
{
	size_t after;

	ARRAY_BISECT(after, spans->count, table_bind_compare_prefixes(&spans->items[after], part) <= 0);
	return after < spans->count && table_bind_contains(part, &spans->items[after]);
}

static bool is_lost(struct spans *spans, const struct table_bind *bind);

/* Begins with a half that has no span inside it, because that takes no time. */
static bool is_half_lost(struct spans *spans, struct table_bind first)
{
	unsigned bit = first.prefix.length++;
	struct table_bind second = first;

	second.prefix.addr.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	if (has_inside(spans, &second))
		return is_lost(spans, &first) || is_lost(spans, &second);
	return is_lost(spans, &second) || is_lost(spans, &first);
}

static bool is_lost(struct spans *spans, const struct table_bind *bind)
{
	const struct table_bind *around;
	struct table_bind part = *bind;

	for (uint32_t port = bind->port_start; port <= bind->port_end; port = (around ? around : &part)->port_end + 1u) {
		if (spans->looks == 0)
			return false;
		spans->looks--;
		part.port_start = (uint16_t)port;
		part.port_end = bind->port_end;
		around = find_around(spans, &part);
		if (!around && (!has_inside(spans, &part) || is_half_lost(spans, part)))
			return true;
	}
	return false;
}

int table_bind_ports_lost(const struct table_set *old, const struct table_set *new, bool *lost)
{
	struct spans spans = {
		.looks = LOOKS * (16384 + (uint64_t)table_set_totals(old).binds + table_set_totals(new).binds)};

	if (collect(&spans, new) < 0)
		return -ENOMEM;
	for (uint32_t t = 0; t < old->count; t++)
		for (uint32_t i = 0; i < old->tables[t].bind_count; i++)
			*lost++ = is_lost(&spans, &old->tables[t].binds[i]);
	free(spans.items);
	return 0;
}
