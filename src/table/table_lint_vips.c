/* SPDX-License-Identifier: BSD-3-Clause */
/* Backends and the director's own address inside binds. */
#include <stdio.h>

#include "gue/gue_wire.h"
#include "table/classify.h"
#include "table/table_lint.h"

/* The worst first: a backend has the first of these matches. */
enum vip_match { VIP_GUE, VIP_HOST, VIP_PREFIX, VIP_MATCHES };

/* The backends of a table with a match. */
struct finding {
	uint32_t backend, count; /* the first of them, and their number */
	int bind; /* the first bind that matches the first backend, as a lookup returns it */
};

/* Returns the first bind for the prefix itself, as a lookup returns it. */
static int first_bind(const struct classify_prefix *prefix)
{
	int first = CLASSIFY_NONE;

	for (unsigned p = 0; p < 2; p++)
		for (uint32_t i = 0; i < prefix->bind_counts[p]; i++)
			if (first == CLASSIFY_NONE || (int)prefix->binds[p][i].number < first)
				first = (int)prefix->binds[p][i].number;
	return first;
}

/* Sets *bind to the first bind that has the match. */
static enum vip_match match_vip(const struct classifier *classifier, const struct netaddr *addr, int *bind)
{
	uint32_t at = classify_prefix_of(classifier, addr);
	struct classify_prefix prefix;

	if (at == CLASSIFY_NO_PREFIX)
		return VIP_MATCHES;
	prefix = classify_prefix_at(classifier, at);
	*bind = classify_port(classifier, addr->family, addr->bytes, TABLE_UDP, GUE_PORT);
	if (*bind != CLASSIFY_NONE)
		return VIP_GUE;
	if (prefix.prefix.length == netaddr_bits(addr)) {
		*bind = first_bind(&prefix);
		return VIP_HOST;
	}
	*bind = classify_address_of(classifier, at);
	return VIP_PREFIX;
}

/* Adds a fault that names the first backend of the table with this match, and counts the others. */
static void report(const struct table_set *set, uint32_t t, enum vip_match match, const struct finding *finding,
	struct faults *faults)
{
	char where[48], text[NETADDR_TEXT_MAX], bind[48], others[48] = "";

	snprintf(where, sizeof(where), "tables[%u].backends[%u].ip", t, finding->backend);
	snprintf(bind, sizeof(bind), "tables[%d].binds[%u]", classify_table(finding->bind), classify_bind(finding->bind));
	if (finding->count > 1)
		snprintf(others, sizeof(others), " (and %u more in this table)", finding->count - 1);
	netaddr_format(&set->tables[t].backends[finding->backend].addr, text);
	if (match == VIP_GUE)
		faults_error(faults, where,
			"'%s' is inside a bind (%s) that matches UDP port 19523: the directors would encapsulate their own packets to this proxy again, in a loop; leave port 19523 out of the bind%s",
			text, bind, others);
	else if (match == VIP_HOST)
		faults_error(faults, where, "'%s' is a VIP (%s): packets to this proxy come back to the directors%s",
			text, bind, others);
	else
		faults_warn(faults, where,
			"'%s' is inside a prefix of VIPs (%s): packets to this proxy come back to the directors unless a more specific route leads to it%s",
			text, bind, others);
}

static void lint_table(const struct table_set *set, const struct classifier *classifier, uint32_t t, struct faults *faults)
{
	const struct table *table = &set->tables[t];
	struct finding findings[VIP_MATCHES] = {0};

	for (uint32_t i = 0; i < table->backend_count; i++) {
		int bind;
		enum vip_match match = match_vip(classifier, &table->backends[i].addr, &bind);

		if (match < VIP_MATCHES && findings[match].count++ == 0) {
			findings[match].backend = i;
			findings[match].bind = bind;
		}
	}
	for (enum vip_match match = 0; match < VIP_MATCHES; match++)
		if (findings[match].count)
			report(set, t, match, &findings[match], faults);
}

void table_lint_vips(const struct table_set *set, struct faults *faults)
{
	struct classifier *classifier = classify_build(set);

	for (uint32_t t = 0; classifier && t < set->count; t++)
		lint_table(set, classifier, t, faults);
	if (!classifier)
		faults_error(faults, "tables", "out of memory");
	classify_free(classifier);
}

static void warn_own(uint32_t t, uint32_t i, const struct netaddr *own, struct faults *faults)
{
	char bind[48], text[NETADDR_TEXT_MAX];

	snprintf(bind, sizeof(bind), "tables[%u].binds[%u]", t, i);
	faults_warn(faults, bind,
		"contains %s %s: the director sends packets for itself to a proxy, such as ICMP errors about its own packets; leave the address out of the bind",
		own->family == NETADDR_V4 ? "outbound_src_ip" : "outbound_src_ip6", netaddr_format(own, text));
}

void table_lint_own_address(const struct table_set *set, const struct netaddr *own, struct faults *faults)
{
	for (uint32_t t = 0; t < set->count; t++) {
		for (uint32_t i = 0; i < set->tables[t].bind_count; i++) {
			if (netprefix_covers(&set->tables[t].binds[i].prefix, own)) {
				warn_own(t, i, own, faults);
				return;
			}
		}
	}
}
