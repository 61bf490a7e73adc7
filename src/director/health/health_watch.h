/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches the director for its health. Control thread only, except where a comment says otherwise.
 *
 * Each area has one function, a health_source, that appends the reasons which it finds now. To add an area, declare its
 * function here and list it in health_watch.c. docs/reference/health.md and HEALTH_CAUSES describe its causes. A source
 * must not block.
 */
#pragma once

#include "director/health/health.h"
#include "director/health/underlay_report.h"
#include "director/ports/ports.h"
#include "director/reload/reload.h"
#include "director/workers.h"

#define HEALTH_WINDOW_TICKS 10 /* what is counted over time is compared with the count of so many ticks ago */

struct nexthop;
struct health_watch;

typedef void health_source(struct health_watch *watch, struct health_report *report);

health_source health_links, health_workers, health_next_hops, health_table, health_traffic, health_underlay;

/* Sums of counters, over all lcores or ports. */
struct health_counts {
	uint64_t received, tx_packets, tx_failed, exceptions, exceptions_failed, rx_failed;
};

struct health_watch {
	/* It looks at these, which are borrowed. */
	const struct conf *conf;
	struct ports *ports;
	const struct workers *workers;
	struct nexthop *const *nexthop; /* *nexthop is NULL: the MAC is configured */
	struct reload *reload;
	struct underlay_report *underlay;

	/* The result */
	struct health health;

	/* The health sources remember this between ticks. */
	uint64_t link_logged_ms[PLAN_MAX_PORTS]; /* when the last message about each link was, in clock_now_ms() */
	unsigned link_changes[PLAN_MAX_PORTS]; /* since then */
	bool link_lost[PLAN_MAX_PORTS]; /* the link was down at the last evaluation, while the port was running */
	uint64_t polls_ms; /* when the last sample of `polls` was, in clock_now_ms() */
	uint64_t polls[PLAN_MAX_LCORES]; /* counters.polls of each worker, at the last sample */
	bool stuck[PLAN_MAX_LCORES]; /* the worker has finished no iteration between the last two samples */
	struct health_counts window[HEALTH_WINDOW_TICKS]; /* of the last ticks, as a ring */
	unsigned ticks;
	uint64_t lost_by_port[PLAN_MAX_PORTS]; /* the port's own counters, at the last tick */
	uint64_t lost_in_ports; /* sum over all ports and resets */
};

/* Reads the links for the first time, without logging them. Called before the control thread runs. */
void health_watch_begin(struct health_watch *watch);

/* Takes the samples of a tick. Returns whether all workers make progress. */
bool health_watch_tick(struct health_watch *watch);

/* Asks all sources, updates watch->health and logs each change of state. Returns what health_update() returns. */
bool health_watch_evaluate(struct health_watch *watch);

/* For health_traffic.c. */
void health_traffic_sample(struct health_watch *watch);

/* For health_workers.c. Returns whether all workers make progress. If the last sample was just before, because a tick
 * came late, returns the result of that sample. */
bool health_workers_sample(struct health_watch *watch, uint64_t now_ms);
