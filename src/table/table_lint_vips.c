/* SPDX-License-Identifier: BSD-3-Clause */
/* Backends and the director's own address inside binds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "gue/gue_wire.h"
#include "table/table_bind_index.h"
#include "table/table_lint.h"

/* The addresses of binds: those of a single address (VIPs), sorted; an index of all; and one of those that
 * match GUE. */
struct vips {
	struct netaddr *hosts;
	size_t count;
	struct table_bind_index all, gue;
	struct table gue_binds; /* of all tables */
};

enum vip_match { VIP_NONE, VIP_PREFIX, VIP_HOST, VIP_GUE };

/* Returns whether packets to the GUE port match. */
static bool matches_gue(const struct table_bind *bind)
{
	return bind->protocol == TABLE_UDP && bind->port_start <= GUE_PORT && bind->port_end >= GUE_PORT;
}

static int compare_addresses(const void *a, const void *b)
{
	return netaddr_compare(a, b);
}

static void close_vips(struct vips *vips)
{
	table_bind_index_close(&vips->all);
	table_bind_index_close(&vips->gue);
	free(vips->gue_binds.binds);
	free(vips->hosts);
}

static void add_binds(struct vips *vips, const struct table *table)
{
	for (uint32_t i = 0; i < table->bind_count; i++) {
		const struct netprefix *prefix = &table->binds[i].prefix;

		if (prefix->length == netaddr_bits(&prefix->addr))
			vips->hosts[vips->count++] = prefix->addr;
		if (matches_gue(&table->binds[i]))
			vips->gue_binds.binds[vips->gue_binds.bind_count++] = table->binds[i];
	}
}

/* False: out of memory, and there is nothing to close. */
static bool open_vips(struct vips *vips, const struct table_set *set)
{
	const struct table_set gue = {.count = 1, .tables = &vips->gue_binds};
	size_t room = 1 + table_set_totals(set).binds;

	*vips = (struct vips){
		.hosts = calloc(room, sizeof(*vips->hosts)),
		.gue_binds.binds = calloc(room, sizeof(*vips->gue_binds.binds)),
	};
	for (uint32_t t = 0; vips->hosts && vips->gue_binds.binds && t < set->count; t++)
		add_binds(vips, &set->tables[t]);
	if (vips->hosts && vips->gue_binds.binds && table_bind_index_open(&vips->all, set) == 0 &&
		table_bind_index_open(&vips->gue, &gue) == 0) {
		qsort(vips->hosts, vips->count, sizeof(*vips->hosts), compare_addresses);
		return true;
	}
	close_vips(vips);
	return false;
}

static enum vip_match match_vip(const struct vips *vips, const struct netaddr *addr)
{
	const struct netprefix host = {.addr = *addr, .length = (uint8_t)netaddr_bits(addr)};

	if (addr->family == NETADDR_NONE || table_bind_index_cover(&vips->all, &host) != TABLE_COVER_ALL)
		return VIP_NONE;
	if (table_bind_index_cover(&vips->gue, &host) == TABLE_COVER_ALL)
		return VIP_GUE;
	return bsearch(addr, vips->hosts, vips->count, sizeof(*addr), compare_addresses) ? VIP_HOST : VIP_PREFIX;
}

static bool is_match(const struct table_bind *bind, enum vip_match match)
{
	return match == VIP_GUE    ? matches_gue(bind)
	       : match == VIP_HOST ? bind->prefix.length == netaddr_bits(&bind->prefix.addr)
				   : true;
}

/* A table with backends inside binds. */
struct finding {
	uint32_t table, backend; /* the first of these backends */
	uint32_t others; /* number of further ones */
	enum vip_match match;
	struct netaddr addr; /* of the first one */
	uint32_t bind_table, bind; /* the first bind with this match that covers it */
};

static int compare_findings(const void *a, const void *b)
{
	const struct finding *const *x = a, *const *y = b;

	return netaddr_compare(&(*x)->addr, &(*y)->addr);
}

/* Finds the bind of each finding. pending: those with this match, sorted. What a bind covers is one range of them, and
 * is done. */
static void find_binds(const struct table_set *set, enum vip_match match, struct finding **pending, size_t count)
{
	for (uint32_t t = 0; t < set->count && count; t++) {
		for (uint32_t i = 0; i < set->tables[t].bind_count && count; i++) {
			const struct table_bind *bind = &set->tables[t].binds[i];
			size_t low, high;

			if (!is_match(bind, match))
				continue;
			ARRAY_BISECT(low, count, netaddr_compare(&pending[low]->addr, &bind->prefix.addr) < 0);
			for (high = low; high < count && netprefix_covers(&bind->prefix, &pending[high]->addr); high++) {
				pending[high]->bind_table = t;
				pending[high]->bind = i;
			}
			memmove(pending + low, pending + high, (count - high) * sizeof(*pending));
			count -= high - low;
		}
	}
}

/* Counts the backends of the table with this match. Returns false if there are none. */
static bool find_backends(
	const struct table_set *set, const struct vips *vips, uint32_t t, enum vip_match match, struct finding *finding)
{
	const struct table *table = &set->tables[t];
	uint32_t count = 0;

	for (uint32_t i = 0; i < table->backend_count; i++)
		if (match_vip(vips, &table->backends[i].addr) == match && count++ == 0)
			*finding = (struct finding){t, i, 0, match, table->backends[i].addr, 0, 0};
	finding->others = count ? count - 1 : 0;
	return count;
}

/* Adds a fault that names the first backend of the table with this match, and counts the others. */
static void report(const struct finding *finding, struct faults *faults)
{
	char where[48], text[NETADDR_TEXT_MAX], bind[48], others[48] = "";

	snprintf(where, sizeof(where), "tables[%u].backends[%u].ip", finding->table, finding->backend);
	snprintf(bind, sizeof(bind), "tables[%u].binds[%u]", finding->bind_table, finding->bind);
	if (finding->others)
		snprintf(others, sizeof(others), " (and %u more in this table)", finding->others);
	netaddr_format(&finding->addr, text);
	if (finding->match == VIP_GUE)
		faults_error(faults, where,
			"'%s' is inside a bind (%s) that matches UDP port 19523: the directors would encapsulate their own packets to this proxy again, in a loop; leave port 19523 out of the bind%s",
			text, bind, others);
	else if (finding->match == VIP_HOST)
		faults_error(faults, where, "'%s' is a VIP (%s): packets to this proxy come back to the directors%s",
			text, bind, others);
	else
		faults_warn(faults, where,
			"'%s' is inside a prefix of VIPs (%s): packets to this proxy come back to the directors unless a more specific route leads to it%s",
			text, bind, others);
}

void table_lint_vips(const struct table_set *set, struct faults *faults)
{
	static const enum vip_match order[] = {VIP_GUE, VIP_HOST, VIP_PREFIX};
	struct finding *findings = calloc(3 * (size_t)set->count + 1, sizeof(*findings));
	struct finding **pending = calloc(set->count + 1, sizeof(struct finding *));
	struct vips vips = {0};
	bool opened = open_vips(&vips, set);
	size_t count = 0;

	if (findings && pending && opened) {
		for (uint32_t t = 0; t < set->count; t++)
			for (unsigned i = 0; i < 3; i++)
				count += find_backends(set, &vips, t, order[i], &findings[count]);
		for (unsigned i = 0; i < 3; i++) {
			size_t same = 0;

			for (size_t f = 0; f < count; f++)
				if (findings[f].match == order[i])
					pending[same++] = &findings[f];
			qsort(pending, same, sizeof(*pending), compare_findings);
			find_binds(set, order[i], pending, same);
		}
		for (size_t f = 0; f < count; f++)
			report(&findings[f], faults);
	} else {
		faults_error(faults, "tables", "out of memory");
	}
	if (opened)
		close_vips(&vips);
	free(findings);
	free(pending);
}

void table_lint_own_address(const struct table_set *set, const struct netaddr *own, struct faults *faults)
{
	struct finding finding = {.addr = *own, .bind_table = UINT32_MAX}, *pending = &finding;
	char bind[48], text[NETADDR_TEXT_MAX];

	find_binds(set, VIP_PREFIX, &pending, 1);
	if (finding.bind_table == UINT32_MAX)
		return;
	snprintf(bind, sizeof(bind), "tables[%u].binds[%u]", finding.bind_table, finding.bind);
	faults_warn(faults, bind,
		"contains %s %s: the director sends packets for itself to a proxy, such as ICMP errors about its own packets; leave the address out of the bind",
		own->family == NETADDR_V4 ? "outbound_src_ip" : "outbound_src_ip6", netaddr_format(own, text));
}
