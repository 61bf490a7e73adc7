/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include "common/text.h"
#include "director/telemetry/telemetry_reply.h"
#include "director/view/view.h"

#define PAGE 32 /* next hops, and as many backends, per reply: about 10 KB of TELEMETRY_REPLY_SIZE */

static void add_set(struct rte_tel_data *data, const struct director *director, uint32_t index)
{
	bool shared = !director->conf.port_interface_count;
	struct view_set set = view_set(director, index);

	rte_tel_data_add_dict_string(data, "port", set.device);
	rte_tel_data_add_dict_string(data, "interface", shared ? "" : director->conf.port_interfaces[index]);
	telemetry_reply_facts(data, view_set_facts, &set);
}

static struct rte_tel_data *describe_next_hop(const struct nexthop_item *item)
{
	struct rte_tel_data *data = telemetry_reply_part();

	if (!data)
		return NULL;
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
	struct rte_tel_data *data = telemetry_reply_part();

	if (!data)
		return NULL;
	rte_tel_data_add_dict_string(data, "ip", orphan->address);
	rte_tel_data_add_dict_string(data, "why", orphan->why);
	return data;
}

static void add_page(struct rte_tel_data *data, const struct director *director, uint32_t set, uint32_t first)
{
	struct nexthop_item items[PAGE + 1];
	struct nexthop_orphan orphans[PAGE + 1];
	struct rte_tel_data *next_hops = telemetry_reply_part(), *without = telemetry_reply_part();
	uint32_t count = view_next_hops(director, set, first, items, PAGE + 1);
	uint32_t orphan_count = view_orphans(director, set, first, orphans, PAGE + 1);

	for (uint32_t i = 0; i < count && i < PAGE; i++)
		telemetry_reply_numbered(next_hops, first + i, describe_next_hop(&items[i]));
	for (uint32_t i = 0; i < orphan_count && i < PAGE; i++)
		telemetry_reply_numbered(without, first + i, describe_orphan(&orphans[i]));
	rte_tel_data_add_dict_uint(data, "first", first);
	telemetry_reply_add(data, "next_hops", next_hops);
	telemetry_reply_add(data, "without", without);
	rte_tel_data_add_dict_int(data, "truncated", count > PAGE || orphan_count > PAGE);
}

static void add_list(struct rte_tel_data *data, const struct director *director)
{
	struct rte_tel_data *list = telemetry_reply_part();

	for (uint32_t i = 0; i < view_set_count(director); i++) {
		struct rte_tel_data *set = telemetry_reply_part();

		if (set)
			add_set(set, director, i);
		telemetry_reply_numbered(list, i, set);
	}
	telemetry_reply_add(data, "sets", list);
}

bool telemetry_packet_next_hops(
	const struct director *director, const struct netaddr *backend, uint16_t source_port, struct rte_tel_data *data)
{
	struct rte_tel_data *list = data ? telemetry_reply_part() : NULL;
	bool any = false;

	for (uint32_t set = 0; set < view_set_count(director); set++) {
		bool used = !director->conf.port_interface_count || director->ports.list[set].forwards;
		struct rte_tel_data *entry = used && list ? telemetry_reply_part() : NULL;
		struct nexthop_item item = {.mac = "unknown"};

		if (!used)
			continue;
		if (!director->nexthop)
			item = view_fixed_next_hop(director);
		any |= !director->nexthop || nexthop_find(director->nexthop, set, backend, source_port, &item);
		if (!entry)
			continue;
		rte_tel_data_add_dict_string(entry, "port", view_set_device(director, set));
		rte_tel_data_add_dict_string(entry, "address", item.address);
		rte_tel_data_add_dict_string(entry, "interface", item.interface);
		rte_tel_data_add_dict_string(entry, "mac", item.mac);
		telemetry_reply_numbered(list, set, entry);
	}
	if (list)
		telemetry_reply_add(data, "next_hops", list);
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
	if (set >= view_set_count(director))
		return telemetry_reply_error(data, "there is no set with this index");
	rte_tel_data_start_dict(data);
	if (!parameters) {
		add_list(data, director);
		return 0;
	}
	add_set(data, director, set);
	add_page(data, director, set, first);
	return 0;
}
