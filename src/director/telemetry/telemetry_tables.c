/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "director/telemetry/telemetry_reply.h"

#define PAGE      32 /* binds, and as many backends, per reply: about 11 KB of TELEMETRY_REPLY_SIZE */
#define NAME_SIZE 64 /* of a table's name, with its terminating zero, so that LIST_PAGE tables fit a reply */
#define LIST_PAGE 64 /* tables per reply */

static void add_summary(struct rte_tel_data *data, const struct live_table *live, uint32_t index)
{
	const struct table_set *set = &live->routes->set;
	const struct table *table = &set->tables[index];
	struct forwarded forwarded = table_counts_table(&live->counts, live->routes, index);
	uint32_t good = 0;
	char label[16], name[NAME_SIZE];

	for (uint32_t i = 0; i < table->backend_count; i++)
		good += table_backend_is_good(&table->backends[i]);
	rte_tel_data_add_dict_uint(data, "index", index);
	snprintf(name, sizeof(name), "%s", table_label(set, index, label));
	telemetry_reply_text(data, "name", name);
	if (!table->name && table->bind_count) { /* it tells operators which table this is */
		char bind[TABLE_BIND_TEXT_MAX];

		rte_tel_data_add_dict_string(data, "first_bind", table_bind_text(&table->binds[0], bind));
	}
	rte_tel_data_add_dict_uint(data, "hops", table->row_hops);
	rte_tel_data_add_dict_uint(data, "bind_count", table->bind_count);
	rte_tel_data_add_dict_uint(data, "backend_count", table->backend_count);
	rte_tel_data_add_dict_uint(data, "good_backends", good);
	rte_tel_data_add_dict_uint(data, "packets", forwarded.packets);
	rte_tel_data_add_dict_uint(data, "bytes", forwarded.bytes);
}

static void add_list(struct rte_tel_data *data, const struct live_table *live, uint32_t first)
{
	struct rte_tel_data *list = rte_tel_data_alloc();
	char text[32];

	if (!list)
		return;
	rte_tel_data_start_dict(list);
	for (uint32_t i = first; i < live->routes->set.count && i - first < LIST_PAGE; i++) {
		struct rte_tel_data *table = rte_tel_data_alloc();

		if (!table)
			break;
		rte_tel_data_start_dict(table);
		add_summary(table, live, i);
		telemetry_reply_numbered(list, i, table);
	}
	rte_tel_data_add_dict_uint(data, "generation", live->generation);
	snprintf(text, sizeof(text), "%016" PRIx64, live->routes->digest);
	rte_tel_data_add_dict_string(data, "digest", text);
	rte_tel_data_add_dict_uint(data, "first", first);
	rte_tel_data_add_dict_container(data, "tables", list, 0);
	rte_tel_data_add_dict_int(data, "truncated", live->routes->set.count > (uint64_t)first + LIST_PAGE);
}

static struct rte_tel_data *list_binds(const struct live_table *live, uint32_t index, uint32_t first)
{
	const struct table *table = &live->routes->set.tables[index];
	struct rte_tel_data *list = rte_tel_data_alloc();

	if (!list)
		return NULL;
	rte_tel_data_start_dict(list);
	for (uint32_t i = first; i < table->bind_count && i < first + PAGE; i++) {
		const struct table_bind *bind = &table->binds[i];
		uint32_t at = table_counts_bind(&live->counts, index, i);
		struct rte_tel_data *data = rte_tel_data_alloc();
		char prefix[NETPREFIX_TEXT_MAX], text[TELEMETRY_TEXT_SIZE];

		if (!data)
			break;
		rte_tel_data_start_dict(data);
		snprintf(text, sizeof(text), "%s %s %u-%u", netprefix_format(&bind->prefix, prefix),
			table_protocol_name(bind->protocol), bind->port_start, bind->port_end);
		rte_tel_data_add_dict_string(data, "bind", text);
		rte_tel_data_add_dict_uint(
			data, "estimated_packets", count_rows_sum(&live->counts.binds, BIND_PACKETS, at));
		rte_tel_data_add_dict_uint(data, "estimated_bytes", count_rows_sum(&live->counts.binds, BIND_BYTES, at));
		telemetry_reply_numbered(list, i, data);
	}
	return list;
}

static struct rte_tel_data *list_backends(const struct live_table *live, uint32_t index, uint32_t first)
{
	const struct table *table = &live->routes->set.tables[index];
	struct rte_tel_data *list = rte_tel_data_alloc();

	if (!list)
		return NULL;
	rte_tel_data_start_dict(list);
	for (uint32_t i = first; i < table->backend_count && i < first + PAGE; i++) {
		const struct table_backend *backend = &table->backends[i];
		size_t at = routes_backend(live->routes, index, i);
		struct forwarded forwarded = table_counts_backend(&live->counts, at);
		struct rte_tel_data *data = rte_tel_data_alloc();
		char address[NETADDR_TEXT_MAX];

		if (!data)
			break;
		rte_tel_data_start_dict(data);
		rte_tel_data_add_dict_string(data, "ip", netaddr_format(&backend->addr, address));
		rte_tel_data_add_dict_string(data, "state", table_state_name(backend->state));
		rte_tel_data_add_dict_int(data, "healthy", backend->healthy);
		rte_tel_data_add_dict_uint(data, "packets", forwarded.packets);
		rte_tel_data_add_dict_uint(data, "bytes", forwarded.bytes);
		rte_tel_data_add_dict_uint(
			data, "no_next_hop", count_rows_sum(&live->counts.backends, BACKEND_NO_NEXT_HOP, at));
		telemetry_reply_numbered(list, i, data);
	}
	return list;
}

static void add_details(struct rte_tel_data *data, const struct live_table *live, uint32_t index, uint32_t first)
{
	const struct table *table = &live->routes->set.tables[index];
	struct rte_tel_data *binds = list_binds(live, index, first), *backends = list_backends(live, index, first);
	uint64_t end = (uint64_t)first + PAGE;

	add_summary(data, live, index);
	rte_tel_data_add_dict_uint(data, "generation", live->generation);
	rte_tel_data_add_dict_uint(data, "first", first);
	if (binds)
		rte_tel_data_add_dict_container(data, "binds", binds, 0);
	if (backends)
		rte_tel_data_add_dict_container(data, "backends", backends, 0);
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
	struct reload *reload = &director->reload;
	uint32_t index = 0, first = 0;
	bool listed = true;
	int error = 0;

	if (parameters && !parse(parameters, &listed, &index, &first))
		return telemetry_reply_error(data,
			"expected no parameters, INDEX[,FIRST] for binds and backends of one table, or ,FIRST for the list from that table on");
	pthread_mutex_lock(&reload->lock);
	if (!listed && index >= reload->shared->live->routes->set.count) {
		error = telemetry_reply_error(data, "there is no table with this index");
	} else {
		rte_tel_data_start_dict(data);
		if (listed)
			add_list(data, reload->shared->live, first);
		else
			add_details(data, reload->shared->live, index, first);
	}
	pthread_mutex_unlock(&reload->lock);
	return error;
}
