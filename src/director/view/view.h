/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the director shows: copies of its state, and the facts about them. Metrics, statsd, telemetry and the page read
 * the state only through these functions, and render the same facts. Any thread may call all functions, and owns the
 * copies. Names in them are borrowed from the director.
 */
#pragma once

#include <rte_ethdev.h>

#include "common/text.h"
#include "director/capture/capture.h"
#include "director/health/health.h"
#include "director/health/underlay_report.h"
#include "director/isa/isa_choice.h"
#include "director/nexthop/nexthop.h"
#include "director/plan.h"
#include "director/ports/link.h"
#include "director/ports/port_events.h"
#include "director/reload/reload.h"
#include "program/facts.h"
#include "worker/counters.h"
#include "worker/worker.h"

struct director;

/* About struct health. */
extern const struct fact view_health_facts[];

struct view_port {
	uint16_t id;
	bool used; /* by a flow path; only then there are metrics about the port */
	const char *name, *driver;
	const char *state; /* "running", "recovering", "resetting" or "removed" */
	char mac[RTE_ETHER_ADDR_FMT_SIZE];
	bool running;
	struct link link;
	double link_bytes; /* speed of the link in bytes per second; NAN: not known */
	uint64_t events[PORT_EVENT_COUNT];
	uint64_t resets, reset_failures, attaches;
	uint32_t mbufs, mbufs_in_use;
	struct rte_eth_stats stats;
};

extern const struct fact view_port_facts[], view_port_event_facts[];

/* Copies all but `stats` of ports[index]. Does not call the driver. */
struct view_port view_port(const struct director *director, uint16_t index);

/*
 * Copies all of ports[index]. While the driver may not be asked, or if it fails, `stats` is what it counted last: a
 * counter that is 0 for a moment looks like one that has begun anew.
 */
struct view_port view_port_counted(struct director *director, uint16_t index);

/* What drivers count for each queue. */
enum { VIEW_QUEUE_KINDS = 4 };
extern const struct fact view_queue_facts[VIEW_QUEUE_KINDS + 1];

struct view_queue {
	uint16_t port; /* index in view.ports */
	uint16_t queue;
	uint8_t kind; /* index in view_queue_facts */
	uint64_t value;
};

struct view_lcore {
	uint16_t lcore;
	struct counters counters;
	struct poll_gaps_report gaps;
};

extern const struct fact view_lcore_facts[];

/* The forwarding table in use as a whole, and its reloads. */
struct view_routes {
	uint64_t generation;
	uint64_t loaded, tried; /* Unix times in seconds: when the table was loaded, and of the last reload */
	uint64_t age; /* since `loaded`, in seconds */
	uint64_t reloads, failures;
	bool failed; /* the last reload */
	/* Properties of the table that decide how fast packets are. */
	uint64_t classifier_bytes;
	uint32_t prefix_lengths_ipv4, prefix_lengths_ipv6, port_maps, misfit_prefixes;
	char slow[WORKER_SLOW_SIZE]; /* as in struct live_table */
	char last_error[RELOAD_ERROR_SIZE]; /* as in struct reload */
	uint32_t tables;
	const char *path, *format;
	char digest[TEXT_HEX64], first_hops[TEXT_HEX64];
};

extern const struct fact view_routes_facts[];
/* reload->lock is held. */
struct view_routes view_routes(const struct reload *reload);

/* A table of the forwarding table. */
struct view_table {
	uint32_t hops, binds, backends, good;
	struct forwarded forwarded;
};

struct view_bind {
	uint64_t packets, bytes;
};

struct view_backend {
	char address[NETADDR_TEXT_MAX];
	const char *state;
	bool healthy;
	struct forwarded forwarded;
	uint64_t no_next_hop;
};

extern const struct fact view_table_facts[], view_bind_facts[], view_backend_facts[];
/* reload->lock is held. */
struct view_table view_table(const struct live_table *live, uint32_t index);
struct view_bind view_bind(const struct live_table *live, uint32_t table, uint32_t index);
struct view_backend view_backend(const struct live_table *live, uint32_t table, uint32_t index);

/* A set of next hops. With a configured MAC, there is one next hop. */
struct view_set {
	const char *device; /* DPDK's name of the port that has the set, or "all" */
	bool fixed; /* the MAC is configured */
	struct nexthop_summary summary;
};

extern const struct fact view_set_facts[];
uint32_t view_set_count(const struct director *director);
const char *view_set_device(const struct director *director, uint32_t index);
struct view_set view_set(const struct director *director, uint32_t index);
/* As nexthop_list() and nexthop_list_orphans(). */
uint32_t view_next_hops(
	const struct director *director, uint32_t set, uint32_t first, struct nexthop_item *items, uint32_t max);
uint32_t view_orphans(
	const struct director *director, uint32_t set, uint32_t first, struct nexthop_orphan *orphans, uint32_t max);
/* The only next hop with a configured MAC. */
struct nexthop_item view_fixed_next_hop(const struct director *director);

/* All of this but tables, binds and backends, which are too many: they are read one at a time, from `reload`. */
struct view {
	struct reload *reload;
	const struct isa_choice *isa;
	struct netaddr sources[2]; /* outbound_src_ip and outbound_src_ip6; NETADDR_NONE: not configured */
	uint64_t started; /* Unix time in seconds */
	struct counters sum;
	struct health health;
	struct capture_state capture;
	struct view_routes routes;
	char fingerprint[TEXT_HEX64];
	uint32_t underlay_count, set_count, queue_count;
	struct underlay_record underlay[UNDERLAY_REPORT_MAX];
	struct view_set sets[PLAN_MAX_PORTS];
	uint16_t port_count;
	struct view_port ports[PLAN_MAX_PORTS];
	struct view_queue *queues;
	bool left_out; /* counts of queues are missing, because a port is being reset; they will be back */
	uint16_t lcore_count;
	struct view_lcore lcores[];
};

/* Reads what the driver of ports[index] counts for each queue. A port that is being reset is noted as left out. */
void view_add_queues(struct view *view, struct director *director, uint16_t index);

/* queues: also read `queues`. NULL: out of memory. */
struct view *view_take(struct director *director, bool queues);
void view_free(struct view *view);
