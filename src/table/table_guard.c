/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table_guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/text.h"
#include "table/table_bind_index.h"
#include "table/table_bind_ports.h"

/* A usable backend of a table. */
struct offer {
	struct netaddr addr;
	uint32_t table;
};

struct comparison {
	const struct table_guard *guard;
	struct faults *faults;
	bool confirmed;
	struct table_bind_index index; /* of the new set's binds */
	const bool *lost_ports; /* of the old table that is compared: for each bind */
	struct offer *offers; /* of the new set, sorted */
	size_t offer_count;
	struct table_mask heirs[TABLE_MAX_TABLES]; /* for each old table: the new tables that take its place */
};

static void lose(struct comparison *comparison, bool dangerous, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void lose(struct comparison *comparison, bool dangerous, const char *format, ...)
{
	struct faults_place place = {0};
	va_list args;

	va_start(args, format);
	faults_add(comparison->faults, !dangerous || comparison->confirmed, &place, format, args);
	va_end(args);
}

static void find_takers(struct comparison *comparison, const struct table *table, struct table_mask *takers)
{
	uint32_t looks = TABLE_BIND_INDEX_LOOKS;

	for (uint32_t i = 0; i < table->bind_count; i++)
		table_bind_index_tables(&comparison->index, &table->binds[i], &looks, takers);
}

/*
 * A table is followed by the one with its name, unless that has lost its binds; or else by those that take its binds;
 * or else by the one at its index, if that follows no other table.
 */
static void find_heirs(struct comparison *comparison)
{
	const struct table_set *old = comparison->guard->old, *new = comparison->guard->new;
	struct table_mask taken = {0};

	for (uint32_t t = 0; t < old->count; t++) {
		uint32_t namesake = table_namesake(old, t, new);

		if (namesake != TABLE_NONE && (new->tables[namesake].bind_count || !old->tables[t].bind_count))
			table_mask_add(&comparison->heirs[t], namesake);
		else
			find_takers(comparison, &old->tables[t], &comparison->heirs[t]);
		table_mask_merge(&taken, &comparison->heirs[t]);
	}
	for (uint32_t t = 0; t < old->count && t < new->count; t++)
		if (!table_mask_any(&comparison->heirs[t]) && !table_mask_has(&taken, t) &&
			table_namesake(old, t, new) == TABLE_NONE)
			table_mask_add(&comparison->heirs[t], t);
}

static bool has_binds(const struct table_set *set, const struct table_mask *tables)
{
	for (uint32_t t = table_mask_next(tables, 0); t < set->count; t = table_mask_next(tables, t + 1))
		if (set->tables[t].bind_count)
			return true;
	return false;
}

static bool has_any_bind(const struct table_set *set)
{
	for (uint32_t t = 0; t < set->count; t++)
		if (set->tables[t].bind_count)
			return true;
	return false;
}

static void lose_binds(struct comparison *comparison, const struct table *table, const char *label, bool vanishes)
{
	struct text_list list = {0};
	char text[TABLE_BIND_TEXT_MAX];

	for (uint32_t i = 0; i < table->bind_count; i++)
		text_list_add(&list, table_bind_text(&table->binds[i], text));
	lose(comparison, true, "table %s %s: %s", label,
		vanishes ? "vanishes with all its binds" : "loses all its binds", list.text);
}

/* Reports the VIPs of a table that have lost addresses. `lost` has room for all binds. */
static void compare_vips(
	struct comparison *comparison, const struct table *table, const char *label, bool busy, struct netprefix *lost)
{
	struct text_list list = {0};
	uint32_t count = 0;

	for (uint32_t i = 0; i < table->bind_count; i++)
		if (table_bind_index_cover(&comparison->index, &table->binds[i].prefix) != TABLE_COVER_ALL)
			lost[count++] = table->binds[i].prefix;
	qsort(lost, count, sizeof(*lost), netprefix_compare);
	for (uint32_t i = 0; i < count; i++) {
		char prefix[NETPREFIX_TEXT_MAX], text[NETPREFIX_TEXT_MAX + 8];
		bool part = table_bind_index_cover(&comparison->index, &lost[i]) == TABLE_COVER_PART;

		if (i && netprefix_compare(&lost[i - 1], &lost[i]) == 0)
			continue;
		snprintf(text, sizeof(text), "%s%s", part ? "part of " : "", netprefix_format(&lost[i], prefix));
		text_list_add(&list, text);
	}
	if (count)
		lose(comparison, busy, "table %s loses %u VIP%s%s: %s", label, list.count, text_plural(list.count),
			busy ? ", and it has traffic" : "", list.text);
}

/* Warns about binds whose addresses are kept, but not their protocol or all of their ports. */
static void compare_ports(struct comparison *comparison, const struct table *table, const char *label)
{
	struct text_list list = {0};
	char text[TABLE_BIND_TEXT_MAX];

	for (uint32_t i = 0; i < table->bind_count; i++)
		if (table_bind_index_cover(&comparison->index, &table->binds[i].prefix) == TABLE_COVER_ALL &&
			comparison->lost_ports[i])
			text_list_add(&list, table_bind_text(&table->binds[i], text));
	if (list.count)
		lose(comparison, false, "table %s loses ports or protocols of %u bind%s: %s", label, list.count,
			text_plural(list.count), list.text);
}

/* Warns about QUIC configurations that connections may have, and that no heir has. */
static void compare_quic(struct comparison *comparison, const struct table *table, uint32_t t, const char *label)
{
	const struct table_set *new = comparison->guard->new;
	const struct table_mask *heirs = &comparison->heirs[t];
	struct text_list list = {0};

	for (uint32_t i = 0; i < table->quic_count; i++) {
		bool kept = false;
		char id[8];

		for (uint32_t h = table_mask_next(heirs, 0); h < new->count; h = table_mask_next(heirs, h + 1))
			kept |= !table_quic_change(table, &new->tables[h], table->quic[i].id);
		snprintf(id, sizeof(id), "%u", table->quic[i].id);
		if (!kept)
			text_list_add(&list, id);
	}
	if (list.count)
		lose(comparison, false,
			"table %s loses or changes QUIC configuration%s %s: connections that still have their connection IDs go by their rows",
			label, text_plural(list.count), list.text);
}

static int compare_offers(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;
	int order = netaddr_compare(&x->addr, &y->addr);

	return order ? order : (x->table > y->table) - (x->table < y->table);
}

/*
 * Sets usable[i] for each backend. If there are rows, a backend must be in one: version 2 has no state inactive, and
 * stores it as draining.
 */
static void find_usable(const struct table *table, bool usable[TABLE_MAX_BACKENDS])
{
	for (uint32_t i = 0; i < table->backend_count; i++)
		usable[i] = !table->rows;
	for (size_t i = 0; table->rows && i < (size_t)TABLE_ROWS * table->row_hops; i++)
		usable[table->rows[i]] = true;
	for (uint32_t i = 0; i < table->backend_count; i++)
		usable[i] &= table->backends[i].state != TABLE_INACTIVE;
}

/* Lists the usable backends of the tables from `first` up to, but without, `end`, sorted. NULL: out of memory. */
static struct offer *list_offers(const struct table_set *set, uint32_t first, uint32_t end, size_t *count)
{
	struct offer *offers;
	size_t all = 1;

	*count = 0;
	for (uint32_t t = first; t < end; t++)
		all += set->tables[t].backend_count;
	offers = malloc(all * sizeof(*offers));
	for (uint32_t t = first; offers && t < end; t++) {
		bool usable[TABLE_MAX_BACKENDS];

		find_usable(&set->tables[t], usable);
		for (uint32_t i = 0; i < set->tables[t].backend_count; i++)
			if (usable[i])
				offers[(*count)++] = (struct offer){set->tables[t].backends[i].addr, t};
	}
	if (offers)
		qsort(offers, *count, sizeof(*offers), compare_offers);
	return offers;
}

/* True if one of these new tables has a usable backend with this address. */
static bool is_offered(const struct comparison *comparison, const struct netaddr *addr, const struct table_mask *tables)
{
	struct offer key = {*addr, table_mask_next(tables, 0)};

	while (key.table < TABLE_MAX_TABLES) {
		size_t low;
		const struct offer *next;

		ARRAY_BISECT(low, comparison->offer_count, compare_offers(&comparison->offers[low], &key) < 0);
		next = &comparison->offers[low];
		if (low == comparison->offer_count || netaddr_compare(&next->addr, addr) != 0)
			return false;
		if (table_mask_has(tables, next->table))
			return true;
		key.table = table_mask_next(tables, next->table + 1);
	}
	return false;
}

/* Reports the usable backends of an old table that its heirs lack. False: out of memory. */
static bool compare_backends(struct comparison *comparison, uint32_t t, const char *label)
{
	const struct table_guard *guard = comparison->guard;
	struct text_list lost = {0};
	size_t usable;
	struct offer *old = list_offers(guard->old, t, t + 1, &usable);
	char text[NETADDR_TEXT_MAX];

	if (!old)
		return false;
	for (size_t i = 0; i < usable; i++)
		if (!is_offered(comparison, &old[i].addr, &comparison->heirs[t]))
			text_list_add(&lost, netaddr_format(&old[i].addr, text));
	free(old);
	if (guard->max_shrink < TABLE_GUARD_OFF && (uint64_t)lost.count * 100 > (uint64_t)usable * guard->max_shrink)
		lose(comparison, true, "table %s loses %u of its %zu usable backends, and max_shrink is %u %%: %s",
			label, lost.count, usable, guard->max_shrink, lost.text);
	return true;
}

/* False: out of memory. */
static bool compare_table(struct comparison *comparison, uint32_t t)
{
	const struct table_guard *guard = comparison->guard;
	const struct table *table = &guard->old->tables[t];
	const struct table_mask *heirs = &comparison->heirs[t];
	struct netprefix *room;
	char buf[16];
	const char *label = table_label(guard->old, t, buf);

	if (table->bind_count && !has_binds(guard->new, heirs)) {
		lose_binds(comparison, table, label,
			!table_mask_any(heirs) && table_namesake(guard->old, t, guard->new) == TABLE_NONE);
		return true;
	}
	room = malloc((table->bind_count + 1) * sizeof(*room));
	if (!room)
		return false;
	compare_vips(comparison, table, label, guard->busy && guard->busy[t], room);
	free(room);
	compare_ports(comparison, table, label);
	compare_quic(comparison, table, t, label);
	return !table_mask_any(heirs) || compare_backends(comparison, t, label);
}

static void lose_everything(struct comparison *comparison)
{
	const struct table_set *old = comparison->guard->old;
	struct text_list list = {0};
	char buf[16];

	for (uint32_t t = 0; t < old->count; t++)
		text_list_add(&list, table_label(old, t, buf));
	lose(comparison, true, "all tables vanish: %s", list.text);
}

/* `replaces` confirms one change. If the set in use has the same one, that change was made before. */
static bool is_confirmed(const struct table_guard *guard)
{
	return guard->new->replaces && guard->new->replaces != guard->old->replaces &&
	       guard->new->replaces == table_set_fingerprint(guard->old);
}

/* False: out of memory. */
static bool compare_tables(struct comparison *comparison)
{
	const struct table_set *old = comparison->guard->old, *new = comparison->guard->new;
	bool *lost_ports = calloc(table_set_totals(old).binds + 1, sizeof(*lost_ports));
	bool done = lost_ports && table_bind_ports_lost(old, new, lost_ports) == 0;

	comparison->lost_ports = lost_ports;
	comparison->offers = list_offers(new, 0, new->count, &comparison->offer_count);
	done = done && comparison->offers && table_bind_index_open(&comparison->index, new) == 0;
	if (done)
		find_heirs(comparison);
	for (uint32_t t = 0; done && t < old->count; t++) {
		done = compare_table(comparison, t);
		comparison->lost_ports += old->tables[t].bind_count;
	}
	table_bind_index_close(&comparison->index);
	free(comparison->offers);
	free(lost_ports);
	return done;
}

static void compare_sets(struct comparison *comparison)
{
	const struct table_guard *guard = comparison->guard;

	if (guard->old->count && !guard->new->count) {
		lose_everything(comparison);
		return;
	}
	if (compare_tables(comparison))
		return;
	faults_error(comparison->faults, NULL, "out of memory: cannot compare this table with the one in use");
	comparison->faults->out_of_memory = true;
}

struct table_guard table_guard_strict(const struct table_set *old, const struct table_set *new, unsigned max_shrink)
{
	static const bool busy[TABLE_MAX_TABLES] = {[0 ... TABLE_MAX_TABLES - 1] = true};

	return (struct table_guard){.old = old, .new = new, .max_shrink = max_shrink, .busy = busy};
}

bool table_guard_allows(const struct table_guard *guard, struct faults *faults)
{
	struct comparison comparison = {
		.guard = guard, .faults = faults, .confirmed = guard->forced || is_confirmed(guard)};
	size_t errors = faults->errors;

	compare_sets(&comparison);
	if (faults->errors == errors && !has_any_bind(guard->new))
		faults_warn(faults, NULL,
			guard->new->count ? "has no binds: the director forwards nothing"
					  : "has no tables: the director forwards nothing");
	return faults->errors == errors;
}

/* Writes what confirms the change: `replaces`, and the command. */
static void write_remedy(const struct table_guard *guard, char *buf, size_t size)
{
	uint64_t fingerprint = table_set_fingerprint(guard->old), replaces = guard->new->replaces;
	const char *command = guard->command ? guard->command : "";
	const char *separator = guard->command ? "; or: " : "";

	if (replaces == fingerprint)
		snprintf(buf, size,
			"the table in use has the same \"replaces\", which confirms one change only: load that table without it first%s%s",
			separator, command);
	else if (replaces)
		snprintf(buf, size,
			"set \"replaces\": \"%016" PRIx64 "\" in the JSON table (it names another table: %016" PRIx64
			")%s%s",
			fingerprint, replaces, separator, command);
	else
		snprintf(buf, size, "add \"replaces\": \"%016" PRIx64 "\" to the JSON table%s%s", fingerprint,
			separator, command);
}

const char *table_guard_refusal(
	const struct table_guard *guard, const struct faults *faults, char buf[TABLE_GUARD_TEXT_MAX])
{
	char more[48] = "", remedy[256];
	int room;

	if (faults->out_of_memory) { /* no confirmation helps */
		snprintf(buf, TABLE_GUARD_TEXT_MAX, "%s", faults_first_error(faults));
		return buf;
	}
	if (faults->errors > 1)
		snprintf(more, sizeof(more), " (and %zu more)", faults->errors - 1);
	write_remedy(guard, remedy, sizeof(remedy));
	room = TABLE_GUARD_TEXT_MAX - (int)strlen(more) - (int)strlen(remedy) - 32;
	snprintf(buf, TABLE_GUARD_TEXT_MAX, "%.*s%s. If this is intended, %s", room, faults_first_error(faults), more,
		remedy);
	return buf;
}
