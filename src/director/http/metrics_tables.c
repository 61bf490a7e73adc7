/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of tables, binds and backends. */
#include "director/http/metrics.h"

static void print_of_table(struct metrics *metrics, const struct live_table *live, uint32_t table, uint64_t value)
{
	char buf[16];

	openmetrics_number(
		&metrics->to, OPENMETRICS_LABELS({"table", table_label(&live->routes->set, table, buf)}), value);
}

static void print_bind_count(
	struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item __rte_unused)
{
	print_of_table(metrics, live, table, live->routes->set.tables[table].bind_count);
}

static void print_backend_count(
	struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item __rte_unused)
{
	print_of_table(metrics, live, table, live->routes->set.tables[table].backend_count);
}

static void print_usable(
	struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item __rte_unused)
{
	const struct table *counted = &live->routes->set.tables[table];
	uint64_t usable = 0;

	for (uint32_t i = 0; i < counted->backend_count; i++)
		usable += table_backend_is_good(&counted->backends[i]);
	print_of_table(metrics, live, table, usable);
}

static void print_packets(
	struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item __rte_unused)
{
	print_of_table(metrics, live, table, table_counts_table(&live->counts, live->routes, table).packets);
}

static void print_bytes(struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item __rte_unused)
{
	print_of_table(metrics, live, table, table_counts_table(&live->counts, live->routes, table).bytes);
}

static void print_of_bind(
	struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item, enum bind_count count)
{
	char buf[16], text[TABLE_BIND_TEXT_MAX];

	openmetrics_number(&metrics->to,
		OPENMETRICS_LABELS({"table", table_label(&live->routes->set, table, buf)},
			{"bind", table_bind_text(&live->routes->set.tables[table].binds[item], text)}),
		count_rows_sum(&live->counts.binds, count, table_counts_bind(&live->counts, table, item)));
}

static void print_bind_packets(struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item)
{
	print_of_bind(metrics, live, table, item, BIND_PACKETS);
}

static void print_bind_bytes(struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item)
{
	print_of_bind(metrics, live, table, item, BIND_BYTES);
}

static void print_of_backend(
	struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item, uint64_t value)
{
	char buf[16], address[NETADDR_TEXT_MAX];

	openmetrics_number(&metrics->to,
		OPENMETRICS_LABELS({"table", table_label(&live->routes->set, table, buf)},
			{"backend", netaddr_format(&live->routes->set.tables[table].backends[item].addr, address)}),
		value);
}

static struct forwarded sum_of_backend(const struct live_table *live, uint32_t table, uint32_t item)
{
	return table_counts_backend(&live->counts, routes_backend(live->routes, table, item));
}

static void print_backend_packets(struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item)
{
	print_of_backend(metrics, live, table, item, sum_of_backend(live, table, item).packets);
}

static void print_backend_bytes(struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item)
{
	print_of_backend(metrics, live, table, item, sum_of_backend(live, table, item).bytes);
}

static void print_backend_lost(struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item)
{
	print_of_backend(metrics, live, table, item,
		count_rows_sum(&live->counts.backends, BACKEND_NO_NEXT_HOP, routes_backend(live->routes, table, item)));
}

static void print_backend_healthy(struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item)
{
	print_of_backend(metrics, live, table, item, live->routes->set.tables[table].backends[item].healthy);
}

static void print_backend_state(struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item)
{
	const struct table_backend *backend = &live->routes->set.tables[table].backends[item];
	char buf[16], address[NETADDR_TEXT_MAX];

	openmetrics_info(&metrics->to, OPENMETRICS_LABELS({"table", table_label(&live->routes->set, table, buf)},
					       {"backend", netaddr_format(&backend->addr, address)},
					       {"state", table_state_name(backend->state)}));
}

const struct metrics_section metrics_tables[] = {
	{METRICS_TABLES, "table_binds", OPENMETRICS_GAUGE, "number of binds", print_bind_count},
	{METRICS_TABLES, "table_backends", OPENMETRICS_GAUGE, "number of backends", print_backend_count},
	{METRICS_TABLES, "table_usable_backends", OPENMETRICS_GAUGE,
		"number of backends that are active or filling, and healthy", print_usable},
	{METRICS_TABLES, "table_packets", OPENMETRICS_COUNTER, "packets that were forwarded for the table", print_packets},
	{METRICS_TABLES, "table_bytes", OPENMETRICS_COUNTER, "bytes of these packets with their outer headers",
		print_bytes},
	{METRICS_BINDS, "bind_estimated_packets", OPENMETRICS_COUNTER,
		"packets that were forwarded because of the bind, estimated", print_bind_packets},
	{METRICS_BINDS, "bind_estimated_bytes", OPENMETRICS_COUNTER,
		"bytes of these packets with their outer headers, estimated", print_bind_bytes},
	{METRICS_BACKENDS, "backend_packets", OPENMETRICS_COUNTER,
		"packets that were forwarded with this backend as first hop", print_backend_packets},
	{METRICS_BACKENDS, "backend_bytes", OPENMETRICS_COUNTER, "bytes of these packets with their outer headers",
		print_backend_bytes},
	{METRICS_BACKENDS, "backend_no_next_hop_packets", OPENMETRICS_COUNTER,
		"packets that were dropped because no next hop to the backend is known", print_backend_lost},
	{METRICS_BACKENDS, "backend_state", OPENMETRICS_INFO, "the state of the backend", print_backend_state},
	{METRICS_BACKENDS, "backend_healthy", OPENMETRICS_GAUGE, "1 if the backend is healthy, 0 if not",
		print_backend_healthy},
	{.over = METRICS_END},
};
