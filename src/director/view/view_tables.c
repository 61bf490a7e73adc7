/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <time.h>

#include "director/view/view.h"
#include "packet/slow.h"

#define ROUTES(member)       FACTS_AT(struct view_routes, member)
#define TABLE(member)        FACTS_AT(struct view_table, member)
#define BIND(member)         FACTS_AT(struct view_bind, member)
#define BACKEND(member)      FACTS_AT(struct view_backend, member)
#define COUNTER(metric, key) metric, key, OPENMETRICS_COUNTER
#define GAUGE(metric, key)   metric, key, OPENMETRICS_GAUGE

#define SPEED(member) NULL, #member, OPENMETRICS_GAUGE, ROUTES(member)

const struct fact view_routes_facts[] = {
	{SPEED(classifier_bytes), "memory of the data that finds a packet's table"},
	{SPEED(prefix_lengths_ipv4), "number of prefix lengths of all IPv4 binds"},
	{SPEED(prefix_lengths_ipv6), "number of prefix lengths of all IPv6 binds"},
	{SPEED(port_maps), "number of different port maps"},
	{SPEED(misfit_prefixes), "number of prefixes in binds without room in the port maps"},
	{GAUGE("table_generation", "generation"), ROUTES(generation), "1 for the table at the start; every reload adds 1"},
	{GAUGE("table_loaded_timestamp_seconds", NULL), ROUTES(loaded), "Unix time at which the table in use was loaded"},
	{COUNTER("reloads", "reloads"), ROUTES(reloads), "reloads that succeeded", {"result", "success"},
		"reloads of the forwarding table, by result"},
	{COUNTER("reloads", "reload_failures"), ROUTES(failures), "reloads that failed", {"result", "failure"}},
	{GAUGE("reload_failed", NULL), ROUTES(failed), "1 if the last reload failed, so that an earlier table is in use"},
	{GAUGE("last_reload_timestamp_seconds", NULL), ROUTES(tried),
		"Unix time of the last reload, whether it succeeded or failed; 0 if there was none"},
	{0},
};

struct view_routes view_routes(const struct reload *reload)
{
	const struct live_table *live = reload->shared->live;
	const struct portmap *portmap = live->routes->portmap;
	uint64_t now = (uint64_t)time(NULL);
	char lengths[SLOW_LENGTHS_TEXT];
	struct view_routes view = {
		.generation = live->generation,
		.loaded = reload->loaded,
		.tried = reload->tried,
		.age = now > reload->loaded ? now - reload->loaded : 0,
		.reloads = reload->reloads,
		.failures = reload->failures,
		.failed = reload->last_error[0] != '\0',
		.classifier_bytes = routes_classifier_memory(live->routes),
		.prefix_lengths_ipv4 = slow_lengths(portmap, NETADDR_V4, lengths),
		.prefix_lengths_ipv6 = slow_lengths(portmap, NETADDR_V6, lengths),
		.port_maps = portmap->map_count - PORTMAP_CONSTANTS,
		.misfit_prefixes = portmap->misfits,
		.tables = live->routes->set.count,
		.path = reload->path,
		.format = reload_format_name(live),
	};

	strcpy(view.slow, live->slow);
	strcpy(view.last_error, reload->last_error);
	text_hex64(live->routes->digest, view.digest);
	text_hex64(live->routes->first_hops, view.first_hops);
	return view;
}

const struct fact view_table_facts[] = {
	{GAUGE(NULL, "hops"), TABLE(hops), "hops in a row"},
	{GAUGE("table_binds", "bind_count"), TABLE(binds), "number of binds"},
	{GAUGE("table_backends", "backend_count"), TABLE(backends), "number of backends"},
	{GAUGE("table_usable_backends", "good_backends"), TABLE(good),
		"number of backends that are active or filling, and healthy"},
	{COUNTER("table_packets", "packets"), TABLE(forwarded.packets), "packets that were forwarded for the table"},
	{COUNTER("table_bytes", "bytes"), TABLE(forwarded.bytes), "bytes of these packets with their outer headers"},
	{0},
};

struct view_table view_table(const struct live_table *live, uint32_t index)
{
	const struct table *table = &live->routes->set.tables[index];

	return (struct view_table){
		.hops = table->row_hops,
		.binds = table->bind_count,
		.backends = table->backend_count,
		.good = table_good_backends(table),
		.forwarded = table_counts_table(&live->counts, live->routes, index),
	};
}

const struct fact view_bind_facts[] = {
	{COUNTER("bind_estimated_packets", "estimated_packets"), BIND(packets),
		"packets that were forwarded because of the bind, estimated"},
	{COUNTER("bind_estimated_bytes", "estimated_bytes"), BIND(bytes),
		"bytes of these packets with their outer headers, estimated"},
	{0},
};

struct view_bind view_bind(const struct live_table *live, uint32_t table, uint32_t index)
{
	uint32_t at = table_counts_bind(&live->counts, table, index);

	return (struct view_bind){
		.packets = count_rows_sum(&live->counts.binds, BIND_PACKETS, at),
		.bytes = count_rows_sum(&live->counts.binds, BIND_BYTES, at),
	};
}

const struct fact view_backend_facts[] = {
	{"backend_state", NULL, OPENMETRICS_INFO, .help = "the state of the backend"},
	{GAUGE("backend_healthy", "healthy"), BACKEND(healthy), "1 if the backend is healthy, 0 if not"},
	{COUNTER("backend_packets", "packets"), BACKEND(forwarded.packets),
		"packets that were forwarded with this backend as first hop"},
	{COUNTER("backend_bytes", "bytes"), BACKEND(forwarded.bytes), "bytes of these packets with their outer headers"},
	{COUNTER("backend_no_next_hop_packets", "no_next_hop"), BACKEND(no_next_hop),
		"packets that were dropped because no next hop to the backend is known"},
	{0},
};

struct view_backend view_backend(const struct live_table *live, uint32_t table, uint32_t index)
{
	const struct table_backend *backend = &live->routes->set.tables[table].backends[index];
	uint32_t at = routes_backend(live->routes, table, index);
	struct view_backend view = {
		.state = table_state_name(backend->state),
		.healthy = backend->healthy,
		.forwarded = table_counts_backend(&live->counts, at),
		.no_next_hop = count_rows_sum(&live->counts.backends, BACKEND_NO_NEXT_HOP, at),
	};

	netaddr_format(&backend->addr, view.address);
	return view;
}
