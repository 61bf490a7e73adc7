/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/conf/conf_tables.h"

#include "table/table_lint.h"

static const enum netaddr_family families[] = {NETADDR_V4, NETADDR_V6};

static void check_family(
	const struct conf *conf, const struct table_set *set, enum netaddr_family family, struct faults *faults)
{
	const char *name = family == NETADDR_V4 ? "IPv4" : "IPv6";
	const char *key = family == NETADDR_V4 ? "outbound_src_ip" : "outbound_src_ip6";
	char where[48], text[NETADDR_TEXT_MAX], label[16], others[48] = "";
	uint32_t first = 0, count = 0;

	if (conf_outbound_source(conf, family).family)
		return;
	for (uint32_t t = 0; t < set->count; t++)
		if (set->tables[t].backend_count && set->tables[t].backends[0].addr.family == family && count++ == 0)
			first = t;
	if (!count)
		return;
	if (count > 1)
		snprintf(others, sizeof(others), " (%u more table%s it, too)", count - 1,
			count == 2 ? " needs" : "s need");
	snprintf(where, sizeof(where), "tables[%u].backends[0].ip", first);
	faults_error(faults, where,
		"'%s' of table %s is an %s address, but director.conf has no %s: add the director's own %s address there and restart the director%s",
		netaddr_format(&set->tables[first].backends[0].addr, text), table_label(set, first, label), name, key,
		name, others);
}

void conf_tables_check(const struct conf *conf, const struct table_set *set, struct faults *faults)
{
	for (unsigned i = 0; i < 2; i++)
		check_family(conf, set, families[i], faults);
}

void conf_tables_lint(const struct conf *conf, const struct table_set *set, struct faults *faults)
{
	for (unsigned i = 0; i < 2; i++) {
		struct netaddr own = conf_outbound_source(conf, families[i]);

		if (own.family)
			table_lint_own_address(set, &own, faults);
	}
	table_lint_mtu(set, conf->steering.outbound_mtu, conf->steering.alt_hash_fields != 0, faults);
}
