/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of lcores. */
#include <rte_cycles.h>

#include "director/http/metrics.h"
#include "worker/worker.h"

static void print_of_lcore(struct metrics *metrics, uint32_t item, const uint64_t *counter)
{
	openmetrics_number(&metrics->to,
		OPENMETRICS_LABELS({"lcore", metrics_label(metrics->director->workers[item]->lcore).text}),
		__atomic_load_n(counter, __ATOMIC_RELAXED));
}

static void print_busy(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct worker *worker = metrics->director->workers[item];
	struct poll_gaps_report report;

	poll_gaps_read(&worker->gaps, rte_get_tsc_hz(), &report);
	openmetrics_real(
		&metrics->to, OPENMETRICS_LABELS({"lcore", metrics_label(worker->lcore).text}), report.busy_seconds);
}

static void print_gaps(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct worker *worker = metrics->director->workers[item];
	struct poll_gaps_report report;

	poll_gaps_read(&worker->gaps, rte_get_tsc_hz(), &report);
	openmetrics_histogram(&metrics->to, OPENMETRICS_LABELS({"lcore", metrics_label(worker->lcore).text}),
		poll_gaps_bounds, report.counts, POLL_GAPS_BOUNDS, report.seconds);
}

static void print_polls(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	print_of_lcore(metrics, item, &metrics->director->workers[item]->counters.polls);
}

static void print_empty_polls(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	print_of_lcore(metrics, item, &metrics->director->workers[item]->counters.empty_polls);
}

static void print_sleeps(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	print_of_lcore(metrics, item, &metrics->director->workers[item]->counters.sleeps);
}

static void print_received(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	print_of_lcore(metrics, item, &metrics->director->workers[item]->counters.received);
}

const struct metrics_section metrics_lcores[] = {
	{METRICS_LCORES, "lcore_busy_seconds", OPENMETRICS_COUNTER, "time in iterations that worked on packets",
		print_busy},
	{METRICS_LCORES, "lcore_poll_gap_seconds", OPENMETRICS_HISTOGRAM, "gaps between two polls", print_gaps},
	{METRICS_LCORES, "lcore_polls", OPENMETRICS_COUNTER, "iterations of the lcore over all its queues", print_polls},
	{METRICS_LCORES, "lcore_empty_polls", OPENMETRICS_COUNTER, "iterations that received no packet",
		print_empty_polls},
	{METRICS_LCORES, "lcore_sleeps", OPENMETRICS_COUNTER, "times that the lcore slept", print_sleeps},
	{METRICS_LCORES, "lcore_received_packets", OPENMETRICS_COUNTER, "frames that the lcore received from ports",
		print_received},
	{.over = METRICS_END},
};
