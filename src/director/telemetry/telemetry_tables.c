/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include <stdio.h>

#include "common/text.h"
#include "director/telemetry/telemetry_reply.h"
#include "director/view/view.h"

#define PAGE      32 /* binds, and as many backends, per reply: about 11 KB of TELEMETRY_REPLY_SIZE */
#define NAME_SIZE 64 /* of a table's name, with its terminating zero, so that LIST_PAGE tables fit a reply */
#define LIST_PAGE 64 /* tables per reply */

static void add_table(struct rte_tel_data *data, const struct live_table *live, uint32_t index)
{
	const struct table *table = &live->routes->set.tables[index];
	struct view_table view = view_table(live, index);
	char label[16], name[NAME_SIZE], bind[TABLE_BIND_TEXT_MAX];

	rte_tel_data_add_dict_uint(data, "index", index);
	snprintf(name, sizeof(name), "%s", table_label(&live->routes->set, index, label));
	telemetry_reply_text(data, "name", name);
	if (!table->name && table->bind_count) /* it tells operators which table this is */
		rte_tel_data_add_dict_string(data, "first_bind", table_bind_text(&table->binds[0], bind));
	telemetry_reply_facts(data, view_table_facts, &view);
}

static void add_list(struct rte_tel_data *data, const struct live_table *live, uint32_t first)
{
	struct rte_tel_data *list = telemetry_reply_part();

	for (uint32_t i = first; i < live->routes->set.count && i - first < LIST_PAGE; i++) {
		struct rte_tel_data *table = telemetry_reply_part();

		if (table)
			add_table(table, live, i);
		telemetry_reply_numbered(list, i, table);
	}
	rte_tel_data_add_dict_uint(data, "generation", live->generation);
	telemetry_reply_hex(data, "digest", live->routes->digest);
	rte_tel_data_add_dict_uint(data, "first", first);
	telemetry_reply_add(data, "tables", list);
	rte_tel_data_add_dict_int(data, "truncated", live->routes->set.count > (uint64_t)first + LIST_PAGE);
}

static struct rte_tel_data *describe_bind(const struct live_table *live, uint32_t table, uint32_t index)
{
	const struct table_bind *bind = &live->routes->set.tables[table].binds[index];
	struct view_bind view = view_bind(live, table, index);
	struct rte_tel_data *data = telemetry_reply_part();
	char prefix[NETPREFIX_TEXT_MAX], text[TELEMETRY_TEXT_SIZE];

	if (!data)
		return NULL;
	snprintf(text, sizeof(text), "%s %s %u-%u", netprefix_format(&bind->prefix, prefix),
		table_protocol_name(bind->protocol), bind->port_start, bind->port_end);
	rte_tel_data_add_dict_string(data, "bind", text);
	telemetry_reply_facts(data, view_bind_facts, &view);
	return data;
}

static struct rte_tel_data *describe_backend(const struct live_table *live, uint32_t table, uint32_t index)
{
	struct view_backend view = view_backend(live, table, index);
	struct rte_tel_data *data = telemetry_reply_part();

	if (!data)
		return NULL;
	rte_tel_data_add_dict_string(data, "ip", view.address);
	rte_tel_data_add_dict_string(data, "state", view.state);
	telemetry_reply_facts(data, view_backend_facts, &view);
	return data;
}

static void add_details(struct rte_tel_data *data, const struct live_table *live, uint32_t index, uint32_t first)
{
	const struct table *table = &live->routes->set.tables[index];
	struct rte_tel_data *binds = telemetry_reply_part(), *backends = telemetry_reply_part();
	uint64_t end = (uint64_t)first + PAGE;

	for (uint32_t i = first; i < table->bind_count && i < end; i++)
		telemetry_reply_numbered(binds, i, describe_bind(live, index, i));
	for (uint32_t i = first; i < table->backend_count && i < end; i++)
		telemetry_reply_numbered(backends, i, describe_backend(live, index, i));
	add_table(data, live, index);
	rte_tel_data_add_dict_uint(data, "generation", live->generation);
	rte_tel_data_add_dict_uint(data, "first", first);
	telemetry_reply_add(data, "binds", binds);
	telemetry_reply_add(data, "backends", backends);
	rte_tel_data_add_dict_int(data, "truncated", table->bind_count > end || table->backend_count > end);
}

/* "INDEX", "INDEX,FIRST" or ",FIRST". Sets *listed: there is no INDEX. */
static bool parse(const char *parameters, bool *listed, uint32_t *index, uint32_t *first)
{
	*listed = *parameters == ',';
	if (!*listed && !text_take_number(&parameters, 0, UINT32_MAX, index))
		return false;
	return *parameters == '\0' || (*parameters == ',' && text_number(parameters + 1, 0, UINT32_MAX, first));
}

int telemetry_tables(struct director *director, const char *parameters, struct rte_tel_data *data)
{
	const struct live_table *live;
	uint32_t index = 0, first = 0;
	bool listed = true;
	int error = 0;

	if (parameters && !parse(parameters, &listed, &index, &first))
		return telemetry_reply_error(data,
			"expected no parameters, INDEX[,FIRST] for binds and backends of one table, or ,FIRST for the list from that table on");
	live = reload_lock(&director->reload);
	if (!listed && index >= live->routes->set.count) {
		error = telemetry_reply_error(data, "there is no table with this index");
	} else {
		rte_tel_data_start_dict(data);
		if (listed)
			add_list(data, live, first);
		else
			add_details(data, live, index, first);
	}
	reload_unlock(&director->reload);
	return error;
}
