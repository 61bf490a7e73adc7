/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include "common/clock.h"
#include "common/netaddr.h"
#include "director/health/underlay_report.h"
#include "director/telemetry/telemetry_reply.h"

static void add_address(struct rte_tel_data *data, const char *key, const struct netaddr *address)
{
	char text[NETADDR_TEXT_MAX];

	rte_tel_data_add_dict_string(data, key, netaddr_format(address, text));
}

static struct rte_tel_data *describe(const struct underlay_record *record)
{
	struct rte_tel_data *data = telemetry_reply_part();

	if (!data)
		return NULL;
	add_address(data, "proxy", &record->last.backend);
	add_address(data, "router", &record->last.router);
	telemetry_reply_facts(data, underlay_report_facts, record);
	rte_tel_data_add_dict_uint(data, "seconds_ago", (clock_now_ms() - record->seen_ms) / 1000);
	return data;
}

int telemetry_underlay(struct director *director, const char *parameters __rte_unused, struct rte_tel_data *data)
{
	struct underlay_record records[UNDERLAY_REPORT_MAX];
	uint32_t count = underlay_report_read(&director->underlay, records);
	struct rte_tel_data *proxies = telemetry_reply_part();

	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_uint(data, "outbound_mtu", director->conf.steering.outbound_mtu);
	for (uint32_t i = 0; i < count; i++)
		telemetry_reply_numbered(proxies, i, describe(&records[i]));
	telemetry_reply_add(data, "proxies", proxies);
	return 0;
}
