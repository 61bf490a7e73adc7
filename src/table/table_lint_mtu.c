/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds for which outbound_mtu is too small. */
#include <inttypes.h>
#include <stdio.h>

#include "gue/encapsulate.h"
#include "table/table_lint.h"

enum {
	IPV4_SMALLEST = 576, /* too-big replies tell clients at least these MTUs (RFC 1812 section 4.3.2.3) */
	IPV6_SMALLEST = 1280, /* RFC 8200 section 5 */
};

static bool has_outer_ipv6(const struct table *table)
{
	return table->backend_count && table->backends[0].addr.family == NETADDR_V6;
}

/* Returns the most hops that a packet of the table can have. */
static unsigned most_hops(const struct table *table, bool alt_hash)
{
	unsigned hops = (table->rows ? table->row_hops : table->hops) * (alt_hash ? 2u : 1u), usable = 0;

	hops = encapsulate_hops(has_outer_ipv6(table), hops);
	for (uint32_t i = 0; i < table->backend_count; i++)
		usable += table->backends[i].state != TABLE_INACTIVE;
	return usable && usable < hops ? usable : hops;
}

/* Returns the number of the table's binds of the family, and the index of the first one. */
static uint32_t count_binds(const struct table *table, enum netaddr_family family, uint32_t *first)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < table->bind_count; i++)
		if (table->binds[i].prefix.addr.family == family && count++ == 0)
			*first = i;
	return count;
}

/*
 * Adds one warning for all tables whose outer headers are as long as those of table `t`, if this is the first of them.
 * It names the first bind of the family, and counts the others.
 */
static void lint_family(const struct table_set *set, uint32_t t, enum netaddr_family family, bool alt_hash,
	uint32_t outbound_mtu, struct faults *faults)
{
	unsigned smallest = family == NETADDR_V4 ? IPV4_SMALLEST : IPV6_SMALLEST;
	unsigned hops = most_hops(&set->tables[t], alt_hash);
	bool outer_ipv6 = has_outer_ipv6(&set->tables[t]);
	unsigned needed = smallest + encapsulate_outer_size(outer_ipv6, hops);
	char where[48], text[TABLE_BIND_TEXT_MAX], others[64] = "";
	uint32_t tables = 0, first = 0, other = 0;
	uint64_t count = 0;

	if (outbound_mtu >= needed || !count_binds(&set->tables[t], family, &first))
		return;
	for (uint32_t i = 0; i < set->count; i++) {
		uint32_t binds = count_binds(&set->tables[i], family, &other);

		if (!binds || most_hops(&set->tables[i], alt_hash) != hops ||
			has_outer_ipv6(&set->tables[i]) != outer_ipv6)
			continue;
		if (i < t)
			return;
		count += binds;
		tables++;
	}
	snprintf(where, sizeof(where), "tables[%u].binds[%u]", t, first);
	if (tables > 1)
		snprintf(others, sizeof(others), " (and %" PRIu64 " more in %u tables)", count - 1, tables);
	else if (count > 1)
		snprintf(others, sizeof(others), " (and %" PRIu64 " more in this table)", count - 1);
	faults_warn(faults, where,
		"'%s'%s: outbound_mtu is %u, but an IPv%u packet of %u bytes has %u with the outer headers for %u %shop%s, and no too-big reply asks clients for smaller ones: set outbound_mtu to %u or more",
		table_bind_text(&set->tables[t].binds[first], text), others, outbound_mtu, family == NETADDR_V4 ? 4 : 6,
		smallest, needed, hops, outer_ipv6 ? "IPv6 " : "", hops == 1 ? "" : "s", needed);
}

void table_lint_mtu(const struct table_set *set, uint32_t outbound_mtu, bool alt_hash, struct faults *faults)
{
	for (uint32_t t = 0; t < set->count; t++) {
		lint_family(set, t, NETADDR_V4, alt_hash, outbound_mtu, faults);
		lint_family(set, t, NETADDR_V6, alt_hash, outbound_mtu, faults);
	}
}
