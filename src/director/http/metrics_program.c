/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of the program, its health, and the forwarding table as a whole. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_version.h>

#include "common/clock.h"
#include "director/capture/capture.h"
#include "director/http/metrics.h"

static void print_build(struct metrics *metrics, const struct live_table *live __rte_unused,
	uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	const struct isa_choice *isa = &metrics->director->isa;
	const char *dpdk = rte_version() + strlen("DPDK ");

	openmetrics_info(&metrics->to, OPENMETRICS_LABELS({"version", GLB_VERSION}, {"dpdk", dpdk},
					       {"isa", isa_name(isa->isa)}, {"isa_by", isa_by_name(isa->by)}));
}

static void print_source(struct metrics *metrics, const struct live_table *live __rte_unused,
	uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	struct netaddr source = netaddr_from_bytes(NETADDR_V4, &metrics->director->conf.outbound_src_ip);
	char text[NETADDR_TEXT_MAX];

	openmetrics_info(&metrics->to, OPENMETRICS_LABELS({"address", netaddr_format(&source, text)}));
}

static void print_start(struct metrics *metrics, const struct live_table *live __rte_unused,
	uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	openmetrics_number(&metrics->to, OPENMETRICS_NO_LABELS, metrics->director->started);
}

static void print_health(struct metrics *metrics, const struct live_table *live __rte_unused,
	uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	struct openmetrics *to = &metrics->to;
	struct health health;

	health_report_now(&metrics->director->health, &health, (uint64_t)time(NULL), clock_now_ms());
	openmetrics_family(
		to, "health_state", OPENMETRICS_GAUGE, "1 for the state of the director, and 0 for the others");
	for (unsigned state = 0; state <= HEALTH_STOPPING; state++)
		openmetrics_number(to, OPENMETRICS_LABELS({"state", health_state_name(state)}), state == health.state);
	openmetrics_gauge(
		to, "health_state_since_timestamp_seconds", "Unix time of the last change of the state", health.since);
	openmetrics_family(
		to, "health_reason", OPENMETRICS_GAUGE, "1 for each reason of the state; absent if there is none");
	for (unsigned i = 0; i < health.report.count; i++) {
		const struct health_reason *reason = &health.report.reasons[i];

		openmetrics_number(to,
			OPENMETRICS_LABELS({"cause", health_cause_name(reason->cause)},
				{"severity", health_severity_name(reason->severity)}, {"object", reason->object}),
			1);
	}
	openmetrics_gauge(to, "health_reasons", "number of reasons of the state",
		(uint64_t)health.report.count + health.report.omitted);
}

static void print_table_info(
	struct metrics *metrics, const struct live_table *live, uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	char digest[24], fingerprint[24];

	snprintf(digest, sizeof(digest), "%016" PRIx64, live->routes->digest);
	snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, table_set_fingerprint(&live->routes->set));
	openmetrics_info(
		&metrics->to, OPENMETRICS_LABELS({"digest", digest}, {"fingerprint", fingerprint},
				      {"format", reload_format_name(live)}, {"path", metrics->director->reload.path}));
}

static void print_reloads(
	struct metrics *metrics, const struct live_table *live, uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	const struct reload *reload = &metrics->director->reload;
	struct openmetrics *to = &metrics->to;

	openmetrics_gauge(to, "table_generation", "1 for the table at the start; every reload adds 1", live->generation);
	openmetrics_gauge(
		to, "table_loaded_timestamp_seconds", "Unix time at which the table in use was loaded", reload->loaded);
	openmetrics_family(to, "reloads", OPENMETRICS_COUNTER, "reloads of the forwarding table, by result");
	openmetrics_number(to, OPENMETRICS_LABELS({"result", "success"}), reload->reloads);
	openmetrics_number(to, OPENMETRICS_LABELS({"result", "failure"}), reload->failures);
	openmetrics_gauge(to, "reload_failed", "1 if the last reload failed, so that an earlier table is in use",
		reload->last_error[0] != '\0');
	openmetrics_gauge(to, "last_reload_timestamp_seconds",
		"Unix time of the last reload, whether it succeeded or failed; 0 if there was none", reload->tried);
}

static void print_capture(struct metrics *metrics, const struct live_table *live __rte_unused,
	uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	struct capture_state state = capture_state(metrics->director->capture);

	openmetrics_gauge(&metrics->to, "capture_running", "1 while glb-director-cli capture captures packets, else 0",
		state.running);
	openmetrics_gauge(&metrics->to, "capture_start_timestamp_seconds",
		"Unix time at which the capture that runs started; 0 if none runs", state.since);
}

const struct metrics_section metrics_program[] = {
	{METRICS_ONCE, "build", OPENMETRICS_INFO,
		"versions of the director and of DPDK, the ISA of the fast path, and what decided it", print_build},
	{METRICS_ONCE, "source", OPENMETRICS_INFO, "the source address of GUE packets, which the proxies must allow",
		print_source},
	{METRICS_ONCE, "start_timestamp_seconds", OPENMETRICS_GAUGE, "Unix time at which the director started",
		print_start},
	{METRICS_ONCE, NULL, 0, NULL, print_health},
	{METRICS_ONCE, NULL, 0, NULL, print_capture},
	{METRICS_ONCE, "table", OPENMETRICS_INFO, "the forwarding table in use", print_table_info},
	{METRICS_ONCE, NULL, 0, NULL, print_reloads},
	{.over = METRICS_END},
};
