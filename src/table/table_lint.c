/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table_lint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/table_overlap.h"

static void lint_name(const struct table_set *set, uint32_t t, struct faults *faults)
{
	const char *name = set->tables[t].name;
	char where[48], label[16];

	/* A table without a name is called by its label, which no other table may have as its name. */
	for (uint32_t other = 0; name && other < set->count; other++) {
		if (other == t || (set->tables[other].name && other > t) ||
			strcmp(table_label(set, other, label), name) != 0)
			continue;
		snprintf(where, sizeof(where), "tables[%u].name", t);
		faults_warn(faults, where, "'%s' is also the name of tables[%u]%s", name, other,
			set->tables[other].name ? "" : ", which has no name and is called by its index");
		return;
	}
}

static bool is_ipv6(const struct netaddr *addr)
{
	return addr->family == NETADDR_V6;
}

static bool is_not_a_host(const struct netaddr *addr)
{
	return addr->family != NETADDR_NONE && !netaddr_is_unicast(addr);
}

/* Adds a warning that names the first backend with a wrong address, and counts the others. */
static void lint_addresses(const struct table *table, uint32_t t, bool (*is_wrong)(const struct netaddr *addr),
	const char *problem, struct faults *faults)
{
	char where[48], text[NETADDR_TEXT_MAX], others[48] = "";
	uint32_t count = 0, first = 0;

	for (uint32_t i = 0; i < table->backend_count; i++)
		if (is_wrong(&table->backends[i].addr) && count++ == 0)
			first = i;
	if (count == 0)
		return;
	snprintf(where, sizeof(where), "tables[%u].backends[%u].ip", t, first);
	if (count > 1)
		snprintf(others, sizeof(others), " (and %u more in this table)", count - 1);
	faults_warn(faults, where, "'%s' is %s%s", netaddr_format(&table->backends[first].addr, text), problem, others);
}

static void lint_backends(const struct table *table, uint32_t t, struct faults *faults)
{
	char where[48];
	uint32_t good = 0;

	for (uint32_t i = 0; i < table->backend_count; i++)
		good += table_backend_is_good(&table->backends[i]);
	snprintf(where, sizeof(where), "tables[%u].backends", t);
	if (table->backend_count && !good)
		faults_warn(faults, where,
			"no backend is good (active or filling, and healthy): new connections go to backends that should not get them");
	if (!faults->strict)
		lint_addresses(table, t, is_ipv6,
			"an IPv6 address, but hops in GUE are IPv4: the director refuses this table", faults);
	lint_addresses(table, t, is_not_a_host, "not an address that a proxy can have: packets to it are lost", faults);
}

static void lint_overlap(const struct table_set *set, const struct table_overlap *overlap, struct faults *faults)
{
	const struct table *loser = &set->tables[overlap->loser_table];
	const struct table *winner = &set->tables[overlap->winner_table];
	char where[48], lost[TABLE_BIND_TEXT_MAX], won[TABLE_BIND_TEXT_MAX], label[16];

	snprintf(where, sizeof(where), "tables[%u].binds[%u]", overlap->loser_table, overlap->loser_bind);
	table_bind_text(&loser->binds[overlap->loser_bind], lost);
	table_bind_text(&winner->binds[overlap->winner_bind], won);
	if (loser == winner)
		faults_warn(faults, where, "'%s' overlaps '%s' (binds[%u]) of the same table", lost, won,
			overlap->winner_bind);
	else
		faults_warn(faults, where, "'%s' overlaps '%s' (tables[%u].binds[%u]): table '%s' wins", lost, won,
			overlap->winner_table, overlap->winner_bind, table_label(set, overlap->winner_table, label));
}

static void lint_overlaps(const struct table_set *set, struct faults *faults)
{
	struct table_overlap *overlaps;
	size_t count, first = 0, end;
	char where[48];

	if (table_overlaps(set, &overlaps, &count) < 0) {
		faults_warn(faults, "tables", "out of memory: overlaps of binds are not checked");
		return;
	}
	for (; first < count; first = end) {
		for (end = first; end < count && overlaps[end].loser_table == overlaps[first].loser_table; end++)
			if (end - first < TABLE_LINT_MAX)
				lint_overlap(set, &overlaps[end], faults);
		snprintf(where, sizeof(where), "tables[%u].binds", overlaps[first].loser_table);
		if (end - first > TABLE_LINT_MAX)
			faults_warn(faults, where, "%zu more binds overlap earlier ones", end - first - TABLE_LINT_MAX);
	}
	free(overlaps);
}

void table_lint_hops(const struct table_set *set, struct faults *faults)
{
	for (uint32_t t = 0; t < set->count; t++) {
		for (uint32_t i = 0; i < set->tables[t].backend_count; i++) {
			const struct netaddr *addr = &set->tables[t].backends[i].addr;
			char where[48], text[NETADDR_TEXT_MAX];

			if (!is_ipv6(addr))
				continue;
			snprintf(where, sizeof(where), "tables[%u].backends[%u].ip", t, i);
			faults_error(faults, where,
				"'%s' is an IPv6 address, but hops in GUE are IPv4: give this proxy an IPv4 address",
				netaddr_format(addr, text));
		}
	}
}

void table_lint(const struct table_set *set, struct faults *faults)
{
	char where[48];

	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];

		lint_name(set, t, faults);
		lint_backends(table, t, faults);
		snprintf(where, sizeof(where), "tables[%u].binds", t);
		if (table->bind_count == 0)
			faults_warn(faults, where, "is empty: this table gets no packets");
	}
	lint_overlaps(set, faults);
	if (faults->strict)
		table_lint_hops(set, faults);
}
