/* SPDX-License-Identifier: BSD-3-Clause */
#include "table_lint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void lint_name(const struct table_set *set, uint32_t t, struct faults *faults)
{
	char where[48];

	for (uint32_t earlier = 0; set->tables[t].name && earlier < t; earlier++) {
		if (!set->tables[earlier].name ||
			strcmp(set->tables[earlier].name, set->tables[t].name) != 0)
			continue;
		snprintf(where, sizeof(where), "tables[%u].name", t);
		faults_warn(faults, where, "'%s' is the name of tables[%u] too",
			set->tables[t].name, earlier);
		return;
	}
}

static void lint_backends(const struct table *table, uint32_t t, struct faults *faults)
{
	char where[48], text[NETADDR_TEXT_MAX], others[48] = "";
	uint32_t good = 0, v6 = 0, first_v6 = 0;

	for (uint32_t i = 0; i < table->backend_count; i++) {
		good += table_backend_is_good(&table->backends[i]);
		if (table->backends[i].addr.family == NETADDR_V6 && v6++ == 0)
			first_v6 = i;
	}
	snprintf(where, sizeof(where), "tables[%u].backends", t);
	if (table->backend_count && !good)
		faults_warn(faults, where,
			"none of %u is good (active or filling, and healthy): new connections go "
			"to backends that should not get them",
			table->backend_count);
	if (!v6)
		return;
	snprintf(where, sizeof(where), "tables[%u].backends[%u].ip", t, first_v6);
	if (v6 > 1)
		snprintf(others, sizeof(others), " (and %u more of this table)", v6 - 1);
	faults_warn(faults, where,
		"'%s' is an IPv6 address%s: hops in GUE are IPv4, the director refuses this table",
		netaddr_format(&table->backends[first_v6].addr, text), others);
}

/* "tcp 10.0.0.0/8 port 80-81" */
static const char *describe_bind(const struct table_bind *bind, char buf[96])
{
	char prefix[NETPREFIX_TEXT_MAX];
	int used = snprintf(buf, 96, "%s %s port %u", table_protocol_name(bind->protocol),
		netprefix_format(&bind->prefix, prefix), bind->port_start);

	if (bind->port_end != bind->port_start)
		snprintf(buf + used, 96 - (size_t)used, "-%u", bind->port_end);
	return buf;
}

static void lint_overlap(
	const struct table_set *set, const struct table_overlap *overlap, struct faults *faults)
{
	const struct table *loser = &set->tables[overlap->loser_table];
	const struct table *winner = &set->tables[overlap->winner_table];
	char where[48], lost[96], won[96], label[16];

	snprintf(where, sizeof(where), "tables[%u].binds[%u]", overlap->loser_table,
		overlap->loser_bind);
	describe_bind(&loser->binds[overlap->loser_bind], lost);
	describe_bind(&winner->binds[overlap->winner_bind], won);
	if (loser == winner)
		faults_warn(faults, where, "'%s' overlaps '%s' (binds[%u]) of the same table", lost,
			won, overlap->winner_bind);
	else
		faults_warn(faults, where,
			"'%s' overlaps '%s' (tables[%u].binds[%u]): table '%s' wins", lost, won,
			overlap->winner_table, overlap->winner_bind,
			table_label(set, overlap->winner_table, label));
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
		for (end = first;
			end < count && overlaps[end].loser_table == overlaps[first].loser_table;
			end++)
			if (end - first < TABLE_LINT_MAX)
				lint_overlap(set, &overlaps[end], faults);
		snprintf(where, sizeof(where), "tables[%u].binds", overlaps[first].loser_table);
		if (end - first > TABLE_LINT_MAX)
			faults_warn(faults, where, "%zu more binds overlap earlier ones",
				end - first - TABLE_LINT_MAX);
	}
	free(overlaps);
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
			faults_warn(faults, where, "there are none: this table gets no packets");
	}
	lint_overlaps(set, faults);
}
