/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/telemetry_commands.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "director/control/telemetry_reply.h"
#include "director/nexthop/neighbours.h"
#include "director/nexthop/nexthop.h"

#define PAGE 32 /* next hops, and as many backends, per reply: about 10 KB of TELEMETRY_REPLY_SIZE */

static uint32_t set_count(const struct director *director)
{
	return director->conf.port_interface_count ? director->conf.port_interface_count : 1;
}

static const char *fixed_mac(const struct director *director, char buf[18])
{
	uint64_t mac = 0;

	memcpy(&mac, director->conf.gateway_mac, sizeof(director->conf.gateway_mac));
	return neighbour_mac_text(mac, buf);
}

const char *telemetry_next_hop_mac(const struct director *director, char buf[18])
{
	struct nexthop_summary summary;

	if (!director->nexthop)
		return fixed_mac(director, buf);
	strcpy(buf, "unknown");
	for (uint32_t set = 0; set < set_count(director); set++) {
		summary = nexthop_summary(director->nexthop, set);
		if (strcmp(buf, "unknown") == 0)
			strcpy(buf, summary.mac);
		else if (strcmp(summary.mac, "unknown") != 0 && strcmp(summary.mac, buf) != 0)
			strcpy(buf, "several");
	}
	return buf;
}

/* The only next hop if outbound_gateway_mac is an address. */
static struct nexthop_item describe_fixed(const struct director *director)
{
	struct nexthop_item item = {
		.state = "fixed",
		.age_s = (uint32_t)((clock_now_ns() - director->started_ns) / CLOCK_NS_PER_S),
	};

	fixed_mac(director, item.mac);
	return item;
}

static void add_summary(struct rte_tel_data *data, const struct director *director, uint32_t set)
{
	bool shared = !director->conf.port_interface_count;
	struct nexthop_summary summary = {.next_hops = 1};

	if (director->nexthop)
		summary = nexthop_summary(director->nexthop, set);
	rte_tel_data_add_dict_string(data, "port", shared ? "all" : director->ports[set].name);
	rte_tel_data_add_dict_string(data, "interface", shared ? "" : director->conf.port_interfaces[set]);
	rte_tel_data_add_dict_uint(data, "next_hop_count", summary.next_hops);
	rte_tel_data_add_dict_uint(data, "unreachable", summary.unreachable);
	rte_tel_data_add_dict_uint(data, "backend_count", summary.backends);
	rte_tel_data_add_dict_uint(data, "without_count", summary.backends_without);
	rte_tel_data_add_dict_uint(data, "version", summary.version);
}

static void add_next_hops(struct rte_tel_data *data, const struct nexthop_item *items, uint32_t count, uint32_t first)
{
	struct rte_tel_data *list = rte_tel_data_alloc();

	if (!list)
		return;
	rte_tel_data_start_dict(list);
	for (uint32_t i = 0; i < count; i++) {
		struct rte_tel_data *item = rte_tel_data_alloc();

		if (!item)
			break;
		rte_tel_data_start_dict(item);
		rte_tel_data_add_dict_string(item, "address", items[i].address);
		rte_tel_data_add_dict_string(item, "interface", items[i].interface);
		rte_tel_data_add_dict_string(item, "mac", items[i].mac);
		rte_tel_data_add_dict_string(item, "state", items[i].state);
		rte_tel_data_add_dict_uint(item, "age", items[i].age_s);
		rte_tel_data_add_dict_uint(item, "backends", items[i].backends);
		telemetry_reply_numbered(list, first + i, item);
	}
	rte_tel_data_add_dict_container(data, "next_hops", list, 0);
}

static void add_orphans(struct rte_tel_data *data, const struct nexthop_orphan *orphans, uint32_t count, uint32_t first)
{
	struct rte_tel_data *list = rte_tel_data_alloc();

	if (!list)
		return;
	rte_tel_data_start_dict(list);
	for (uint32_t i = 0; i < count; i++) {
		struct rte_tel_data *item = rte_tel_data_alloc();

		if (!item)
			break;
		rte_tel_data_start_dict(item);
		rte_tel_data_add_dict_string(item, "ip", orphans[i].address);
		rte_tel_data_add_dict_string(item, "why", orphans[i].why);
		telemetry_reply_numbered(list, first + i, item);
	}
	rte_tel_data_add_dict_container(data, "without", list, 0);
}

static void add_page(struct rte_tel_data *data, const struct director *director, uint32_t set, uint32_t first)
{
	struct nexthop_item items[PAGE + 1];
	struct nexthop_orphan orphans[PAGE + 1];
	uint32_t count = 0, orphan_count = 0;

	if (director->nexthop) {
		count = nexthop_list(director->nexthop, set, first, items, PAGE + 1);
		orphan_count = nexthop_list_orphans(director->nexthop, set, first, orphans, PAGE + 1);
	} else if (first == 0) {
		items[count++] = describe_fixed(director);
	}
	rte_tel_data_add_dict_uint(data, "first", first);
	add_next_hops(data, items, RTE_MIN(count, (uint32_t)PAGE), first);
	add_orphans(data, orphans, RTE_MIN(orphan_count, (uint32_t)PAGE), first);
	rte_tel_data_add_dict_int(data, "truncated", count > PAGE || orphan_count > PAGE);
}

static void add_list(struct rte_tel_data *data, const struct director *director)
{
	struct rte_tel_data *list = rte_tel_data_alloc();

	if (!list)
		return;
	rte_tel_data_start_dict(list);
	for (uint32_t i = 0; i < set_count(director); i++) {
		struct rte_tel_data *set = rte_tel_data_alloc();

		if (!set)
			break;
		rte_tel_data_start_dict(set);
		add_summary(set, director, i);
		telemetry_reply_numbered(list, i, set);
	}
	rte_tel_data_add_dict_container(data, "sets", list, 0);
}

/* "SET" or "SET,FIRST" */
static bool parse(const char *parameters, uint32_t *set, uint32_t *first)
{
	if (!text_take_number(&parameters, 0, UINT32_MAX, set))
		return false;
	return *parameters == '\0' || (*parameters == ',' && text_number(parameters + 1, 0, UINT32_MAX, first));
}

int telemetry_next_hops(struct director *director, const char *parameters, struct rte_tel_data *data)
{
	uint32_t set = 0, first = 0;

	if (parameters && !parse(parameters, &set, &first))
		return telemetry_reply_error(data,
			"expected no parameters, or SET[,FIRST]: the index of a set, and of its first next hop and backend");
	if (set >= set_count(director))
		return telemetry_reply_error(data, "there is no set with this index");
	rte_tel_data_start_dict(data);
	if (!parameters) {
		add_list(data, director);
		return 0;
	}
	add_summary(data, director, set);
	add_page(data, director, set, first);
	return 0;
}
