/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table_lint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/table_overlap.h"

/* Adds a fault that names the first backend with an address that no proxy can have, and counts the others. It is only a
 * warning for IPv4, because such tables are in use. */
static void lint_addresses(const struct table *table, uint32_t t, struct faults *faults)
{
	char where[48], text[NETADDR_TEXT_MAX], others[48] = "";
	const struct netaddr *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct netaddr *addr = &table->backends[i].addr;

		if (addr->family == NETADDR_NONE || netaddr_is_host(addr) || count++)
			continue;
		first = addr;
		snprintf(where, sizeof(where), "tables[%u].backends[%u].ip", t, i);
	}
	if (count == 0)
		return;
	if (count > 1)
		snprintf(others, sizeof(others), " (and %u more in this table)", count - 1);
	(first->family == NETADDR_V6 ? faults_error : faults_warn)(faults, where,
		"'%s' is %snot an address that a proxy can have: packets to it are lost%s", netaddr_format(first, text),
		netaddr_is_link_local(first) ? "a link-local address, "
		: netaddr_is_mapped(first)   ? "an IPv4 address in IPv6 text, "
					     : "",
		others);
}

static void lint_backends(const struct table *table, uint32_t t, struct faults *faults)
{
	char where[48];

	snprintf(where, sizeof(where), "tables[%u].backends", t);
	if (table->backend_count && !table_good_backends(table))
		faults_warn(faults, where,
			"no backend is good (active or filling, and healthy): new connections go to backends that should not get them");
	lint_addresses(table, t, faults);
}

/* The keys of the examples in config/ and docs/, of those of GLB, and of the draft of QUIC-LB. */
static const uint8_t published_keys[][SIPHASH_KEY_SIZE] = {
	{0x0f, 0x1e, 0x2d, 0x3c, 0x4b, 0x5a, 0x69, 0x78, 0x87, 0x96, 0xa5, 0xb4, 0xc3, 0xd2, 0xe1, 0xf0},
	{0xa0, 0xb1, 0xc2, 0xd3, 0xe4, 0xf5, 0x06, 0x17, 0x28, 0x39, 0x4a, 0x5b, 0x6c, 0x7d, 0x8e, 0x9f},
	{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01},
	{0xf9, 0xe8, 0xd7, 0xc6, 0xb5, 0xa4, 0x93, 0x82, 0x71, 0x60, 0x51, 0x42, 0x33, 0x24, 0x15, 0x06},
	{0x12, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56, 0x12, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56},
	{0x8f, 0x95, 0xf0, 0x92, 0x45, 0x76, 0x5f, 0x80, 0x25, 0x69, 0x34, 0xe5, 0x0c, 0x66, 0x20, 0x7f},
	{0xfd, 0xf7, 0x26, 0xa9, 0x89, 0x3e, 0xc0, 0x5c, 0x06, 0x32, 0xd3, 0x95, 0x66, 0x80, 0xba, 0xf0},
	{0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56, 0x78, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56, 0x78},
};

static bool is_published(const uint8_t key[SIPHASH_KEY_SIZE])
{
	for (size_t i = 0; i < sizeof(published_keys) / sizeof(published_keys[0]); i++)
		if (memcmp(key, published_keys[i], SIPHASH_KEY_SIZE) == 0)
			return true;
	return false;
}

/* Returns key `index` of the table, and sets its name; NULL: there are fewer keys. */
static const uint8_t *key_of(const struct table *table, uint32_t index, char name[24])
{
	snprintf(name, 24, index == 0 ? "hash_key" : index == 1 ? "seed" : "quic[%u].key", index - 2);
	if (index < 2)
		return index ? table->seed : table->hash_key;
	return index - 2 < table->quic_count ? table->quic[index - 2].key : NULL;
}

/* Adds a fault that names the first key that everybody knows, and counts the others. */
static void lint_keys(const struct table_set *set, struct faults *faults)
{
	char where[48], name[24], others[32] = "";
	const uint8_t *key;
	uint32_t count = 0;

	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t i = 0; (key = key_of(&set->tables[t], i, name)); i++)
			if (is_published(key) && count++ == 0)
				snprintf(where, sizeof(where), "tables[%u].%s", t, name);
	if (count == 0)
		return;
	if (count > 1)
		snprintf(others, sizeof(others), " (and %u more key%s)", count - 1, count == 2 ? "" : "s");
	(faults->thorough ? faults_error : faults_warn)(faults, where,
		"is published as an example, so it is not a secret: make a key with `openssl rand -hex 16`%s", others);
}

/* GLB's programs read a backend without `healthy` as not healthy, and then give its rows to others. */
static void lint_omitted_health(const struct table *table, uint32_t t, struct faults *faults)
{
	uint32_t omitted = 0, in_rows = 0;
	char where[48];

	for (uint32_t i = 0; i < table->backend_count; i++) {
		in_rows += table->backends[i].state != TABLE_INACTIVE;
		omitted += table->backends[i].healthy_omitted && table_backend_is_good(&table->backends[i]);
	}
	snprintf(where, sizeof(where), "tables[%u].backends", t);
	if (omitted && in_rows > 1)
		faults_warn(faults, where,
			"%u without `healthy`, which is true here, but false for GLB's programs: their rows differ; write the member",
			omitted);
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

/* Returns whether the families differ. No family: an error says what is wrong with the address. */
static bool is_other_family(const struct netaddr *first, const struct netaddr *addr)
{
	return first->family != NETADDR_NONE && addr->family != NETADDR_NONE && addr->family != first->family;
}

static void lint_families(const struct table *table, uint32_t t, struct faults *faults)
{
	const struct netaddr *first = &table->backends[0].addr, *other = NULL;
	char where[80], text[NETADDR_TEXT_MAX], first_text[NETADDR_TEXT_MAX], others[48] = "";
	uint32_t count = 0;

	for (uint32_t i = 0; i < table->backend_count; i++)
		if (is_other_family(first, &table->backends[i].addr) && count++ == 0) {
			other = &table->backends[i].addr;
			snprintf(where, sizeof(where), "tables[%u].backends[%u].ip", t, i);
		}
	for (uint32_t p = 0; p < table->past_count; p++)
		for (uint32_t i = 0; i < table->past[p].backend_count; i++)
			if (is_other_family(first, &table->past[p].backends[i].addr) && count++ == 0) {
				other = &table->past[p].backends[i].addr;
				snprintf(where, sizeof(where), "tables[%u].previous[%u].backends[%u].ip", t, p, i);
			}
	if (count == 0)
		return;
	if (count > 1)
		snprintf(others, sizeof(others), " (and %u more in this table)", count - 1);
	faults_error(faults, where,
		"'%s' is an %s address, but backends[0] has %s: all proxies of a table, and of its previous states, need addresses of one family; make a second table for the others%s",
		netaddr_format(other, text), other->family == NETADDR_V4 ? "IPv4" : "IPv6",
		netaddr_format(first, first_text), others);
}

void table_lint_families(const struct table_set *set, struct faults *faults)
{
	for (uint32_t t = 0; t < set->count; t++)
		if (set->tables[t].backend_count)
			lint_families(&set->tables[t], t, faults);
}

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
		faults_error(faults, where, "'%s' is also the name of tables[%u]%s: give each table its own name", name,
			other, set->tables[other].name ? "" : ", which has no name and is called by its index");
		return;
	}
}

void table_lint_names(const struct table_set *set, struct faults *faults)
{
	for (uint32_t t = 0; t < set->count; t++)
		lint_name(set, t, faults);
}

void table_lint(const struct table_set *set, struct faults *faults)
{
	char where[48];

	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];

		lint_backends(table, t, faults);
		table_lint_past(table, t, faults);
		table_lint_quic_use(table, t, faults);
		snprintf(where, sizeof(where), "tables[%u].binds", t);
		if (table->bind_count == 0)
			faults_warn(faults, where, "is empty: this table gets no packets");
		if (faults->thorough)
			lint_omitted_health(table, t, faults);
	}
	if (set->count == 0)
		faults_warn(faults, "tables", "is empty: the director forwards nothing");
	lint_keys(set, faults);
	lint_overlaps(set, faults);
	table_lint_vips(set, faults);
	table_lint_families(set, faults);
	table_lint_names(set, faults);
	table_lint_quic(set, faults);
}
