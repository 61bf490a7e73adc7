/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "director/telemetry/telemetry_reply.h"
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

static void add_port(struct rte_tel_data *data, const struct director *director, uint32_t set)
{
	rte_tel_data_add_dict_string(
		data, "port", director->conf.port_interface_count ? director->ports[set].name : "all");
}

static void add_summary(struct rte_tel_data *data, const struct director *director, uint32_t set)
{
	bool shared = !director->conf.port_interface_count;
	struct nexthop_summary summary = {.next_hops = 1};

	if (director->nexthop)
		summary = nexthop_summary(director->nexthop, set);
	add_port(data, director, set);
	rte_tel_data_add_dict_string(data, "interface", shared ? "" : director->conf.port_interfaces[set]);
	rte_tel_data_add_dict_uint(data, "next_hop_count", summary.next_hops);
	rte_tel_data_add_dict_uint(data, "unreachable", summary.unreachable);
	rte_tel_data_add_dict_uint(data, "backend_count", summary.backends);
	rte_tel_data_add_dict_uint(data, "without_count", summary.backends_without);
	rte_tel_data_add_dict_uint(data, "version", summary.version);
}

static struct rte_tel_data *describe_next_hop(const struct nexthop_item *item)
{
	struct rte_tel_data *data = rte_tel_data_alloc();

	if (!data)
		return NULL;
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "address", item->address);
	rte_tel_data_add_dict_string(data, "interface", item->interface);
	rte_tel_data_add_dict_string(data, "mac", item->mac);
	rte_tel_data_add_dict_string(data, "state", item->state);
	rte_tel_data_add_dict_uint(data, "age", item->age_s);
	rte_tel_data_add_dict_uint(data, "backends", item->backends);
	return data;
}

static struct rte_tel_data *describe_orphan(const struct nexthop_orphan *orphan)
{
	struct rte_tel_data *data = rte_tel_data_alloc();

	if (!data)
		return NULL;
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "ip", orphan->address);
	rte_tel_data_add_dict_string(data, "why", orphan->why);
	return data;
}

static void add_page(struct rte_tel_data *data, const struct director *director, uint32_t set, uint32_t first)
{
	struct nexthop_item items[PAGE + 1];
	struct nexthop_orphan orphans[PAGE + 1];
	struct rte_tel_data *next_hops = rte_tel_data_alloc(), *without = rte_tel_data_alloc();
	uint32_t count = 0, orphan_count = 0;

	if (!next_hops || !without) {
		rte_tel_data_free(next_hops);
		rte_tel_data_free(without);
		return;
	}
	if (director->nexthop) {
		count = nexthop_list(director->nexthop, set, first, items, PAGE + 1);
		orphan_count = nexthop_list_orphans(director->nexthop, set, first, orphans, PAGE + 1);
	} else if (first == 0) {
		items[count++] = describe_fixed(director);
	}
	rte_tel_data_start_dict(next_hops);
	for (uint32_t i = 0; i < count && i < PAGE; i++)
		telemetry_reply_numbered(next_hops, first + i, describe_next_hop(&items[i]));
	rte_tel_data_start_dict(without);
	for (uint32_t i = 0; i < orphan_count && i < PAGE; i++)
		telemetry_reply_numbered(without, first + i, describe_orphan(&orphans[i]));
	rte_tel_data_add_dict_uint(data, "first", first);
	rte_tel_data_add_dict_container(data, "next_hops", next_hops, 0);
	rte_tel_data_add_dict_container(data, "without", without, 0);
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

bool telemetry_packet_next_hops(
	const struct director *director, uint32_t backend, uint16_t source_port, struct rte_tel_data *data)
{
	struct rte_tel_data *list = data ? rte_tel_data_alloc() : NULL;
	bool any = false;

	if (list)
		rte_tel_data_start_dict(list);
	for (uint32_t set = 0; set < set_count(director); set++) {
		struct rte_tel_data *entry = list ? rte_tel_data_alloc() : NULL;
		struct nexthop_item item = {.mac = "unknown"};

		if (!director->nexthop)
			item = describe_fixed(director);
		any |= !director->nexthop || nexthop_find(director->nexthop, set, backend, source_port, &item);
		if (!entry)
			continue;
		rte_tel_data_start_dict(entry);
		add_port(entry, director, set);
		rte_tel_data_add_dict_string(entry, "address", item.address);
		rte_tel_data_add_dict_string(entry, "interface", item.interface);
		rte_tel_data_add_dict_string(entry, "mac", item.mac);
		telemetry_reply_numbered(list, set, entry);
	}
	if (list)
		rte_tel_data_add_dict_container(data, "next_hops", list, 0);
	return any;
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
