/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/slow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/netaddr.h"
#include "common/text.h"
#include "packet/routes.h"

enum { NAMED_TABLES = 8 }; /* in a warning */

/* The prefix length of a level. */
static unsigned length_at(const struct portmap *portmap, uint8_t family, unsigned level)
{
	const struct portmap_v6_level *six;

	if (family == NETADDR_V4)
		return (unsigned)__builtin_popcount(portmap->v4[level].mask);
	six = &portmap->v6[level];
	return (unsigned)(__builtin_popcountll(six->mask[0]) + __builtin_popcountll(six->mask[1]));
}

unsigned slow_lengths(const struct portmap *portmap, uint8_t family, char text[SLOW_LENGTHS_TEXT])
{
	unsigned levels = family == NETADDR_V4 ? portmap->v4_levels : portmap->v6_levels, count = 0;
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < levels; i++) {
		unsigned length = length_at(portmap, family, i);

		if (i > 0 && length == length_at(portmap, family, i - 1))
			continue;
		used += (size_t)snprintf(text + used, SLOW_LENGTHS_TEXT - used, "%s%u", count ? " " : "", length);
		count++;
	}
	return count;
}

static void warn_lengths(const struct portmap *portmap, uint8_t family, struct faults *faults)
{
	char text[SLOW_LENGTHS_TEXT];
	unsigned count = slow_lengths(portmap, family, text);

	if (count > SLOW_LENGTHS)
		faults_warn(faults, "tables",
			"binds of %s have %u prefix lengths (%s): packets that match a short one or none take longer; use at most %d lengths",
			family == NETADDR_V4 ? "IPv4" : "IPv6", count, text, SLOW_LENGTHS);
}

/* Writes the names of the first tables of a set of indices. */
static void name_tables(const struct table_set *set, const struct table_mask *tables, char *text, size_t size)
{
	unsigned named = 0;
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t t = 0; t < set->count && used < size; t++) {
		char label[16];

		if (!table_mask_has(tables, t))
			continue;
		if (named == NAMED_TABLES) {
			snprintf(text + used, size - used, " and others");
			return;
		}
		used += (size_t)snprintf(
			text + used, size - used, "%s%.60s", named ? ", " : "", table_label(set, t, label));
		named++;
	}
}

static void warn_misfits(const struct table_set *set, const struct portmap *portmap, struct faults *faults)
{
	char names[NAMED_TABLES * 64];

	if (!portmap->misfits)
		return;
	name_tables(set, &portmap->misfit_tables, names, sizeof(names));
	faults_warn(faults, "tables",
		"%" PRIu32 " prefix%s in binds of %s found no room in the port maps (%" PRIu32 " of %d maps, %" PRIu32
		" of %d pages): their packets take the slower general path; give the same ports to more addresses",
		portmap->misfits, portmap->misfits == 1 ? "" : "es", names, portmap->map_count - PORTMAP_CONSTANTS,
		PORTMAP_MAX_MAPS - PORTMAP_CONSTANTS, portmap->page_count - PORTMAP_CONSTANTS,
		PORTMAP_MAX_PAGES - PORTMAP_CONSTANTS);
}

void slow_warn(const struct table_set *set, const struct portmap *portmap, struct faults *faults)
{
	char where[32];

	warn_lengths(portmap, NETADDR_V4, faults);
	warn_lengths(portmap, NETADDR_V6, faults);
	warn_misfits(set, portmap, faults);
	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];

		if (!table->rows || table->row_hops <= 2 || routes_rows_are_distinct(table))
			continue;
		snprintf(where, sizeof(where), "tables[%" PRIu32 "]", t);
		faults_warn(faults, where,
			"rows of %u hops have an address twice: the packets of this table take the slower general path; list each address once, and build the table again",
			table->row_hops);
	}
}

/* The hops of each row. Without rows: those that they will have. */
static unsigned hops_of(const struct table *table)
{
	unsigned hops = 0;

	if (table->rows)
		return table->row_hops;
	for (uint32_t i = 0; i < table->backend_count && hops < table->hops; i++)
		hops += table->backends[i].state != TABLE_INACTIVE;
	return hops;
}

void slow_warn_alt(const struct table_set *set, struct faults *faults)
{
	char where[32];

	for (uint32_t t = 0; t < set->count; t++) {
		unsigned hops = hops_of(&set->tables[t]);

		if (hops <= 2)
			continue;
		snprintf(where, sizeof(where), "tables[%" PRIu32 "]", t);
		faults_warn(faults, where,
			"rows have %u hops, and alt_hash_fields is set: the packets of this table take the slower general path; set \"hops\" to 2 or remove alt_hash_fields",
			hops);
	}
}
