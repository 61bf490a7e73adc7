/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/clock.h"
#include "healthcheck/checks/check_tunnel.h"
#include "healthcheck/http/status.h"

/* Writes the header of a metric. `type` is a type of OpenMetrics. Samples of a counter end in _total. */
static void family(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# TYPE glb_healthcheck_%s %s\n# HELP glb_healthcheck_%s %s\n", name, type, name, help);
}

static void counter(FILE *to, const char *name, const char *help, uint64_t value)
{
	family(to, name, "counter", help);
	fprintf(to, "glb_healthcheck_%s_total %" PRIu64 "\n", name, value);
}

static void gauge(FILE *to, const char *name, const char *help, uint64_t value)
{
	family(to, name, "gauge", help);
	fprintf(to, "glb_healthcheck_%s %" PRIu64 "\n", name, value);
}

static void label(FILE *to, const char *text)
{
	for (; *text; text++)
		fprintf(to, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void print_tables(FILE *to, const struct monitor *monitor)
{
	const struct table_set *set = &monitor->list.document.set;
	char buf[16];

	family(to, "table_panic", "gauge", "1 if too few backends are healthy, so that all count as healthy");
	for (uint32_t t = 0; t < set->count; t++) {
		fputs("glb_healthcheck_table_panic{table=\"", to);
		label(to, table_label(set, t, buf));
		fprintf(to, "\"} %d\n", monitor->publisher.verdicts[t].panic);
	}
	family(to, "table_kept_by_panic", "gauge", "unhealthy backends that are in service only because of panic");
	for (uint32_t t = 0; t < set->count; t++) {
		fputs("glb_healthcheck_table_kept_by_panic{table=\"", to);
		label(to, table_label(set, t, buf));
		fprintf(to, "\"} %" PRIu32 "\n", monitor->publisher.verdicts[t].kept);
	}
	family(to, "backend_healthy", "gauge", "0 if the backend's verdict is unhealthy, even if dst has it as healthy");
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t b = 0; b < set->tables[t].backend_count; b++) {
			char ip[NETADDR_TEXT_MAX];

			fputs("glb_healthcheck_backend_healthy{table=\"", to);
			label(to, table_label(set, t, buf));
			fprintf(to, "\",backend=\"%s\"} %d\n", netaddr_format(&set->tables[t].backends[b].addr, ip),
				checklist_verdict(&monitor->list, t, b) != DAMPER_UNHEALTHY);
		}
}

static void print_checks(FILE *to, const struct monitor *monitor)
{
	const struct checklist *list = &monitor->list;
	uint64_t held = 0, now = clock_now_ms();

	family(to, "check_healthy", "gauge",
		"1 if the check's verdict is healthy, 0 if unhealthy; absent before the first verdict");
	for (uint32_t i = 0; i < list->check_count; i++) {
		if (list->checks[i]->damper.verdict == DAMPER_UNKNOWN)
			continue;
		fputs("glb_healthcheck_check_healthy{check=\"", to);
		label(to, list->checks[i]->name);
		fprintf(to, "\"} %d\n", list->checks[i]->damper.verdict == DAMPER_HEALTHY);
	}
	for (uint32_t i = 0; i < list->check_count; i++)
		held += list->checks[i]->damper.flaps && damper_held_ms(&list->checks[i]->damper, now);
	gauge(to, "checks_flapping", "checks that stay unhealthy for longer than hold_ms, because they flap", held);
}

static void print_probes(FILE *to, const struct monitor_counters *counters)
{
	family(to, "probes", "counter", "finished probes, by kind and result");
	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++)
		for (enum check_result result = 0; result < CHECK_RESULT_COUNT; result++)
			fprintf(to, "glb_healthcheck_probes_total{kind=\"%s\",result=\"%s\"} %" PRIu64 "\n",
				check_kind_name(kind), check_result_name(result), counters->probes[kind][result]);
	family(to, "latency_seconds", "summary", "duration of probes that passed");
	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++)
		fprintf(to,
			"glb_healthcheck_latency_seconds_count{kind=\"%s\"} %" PRIu64
			"\nglb_healthcheck_latency_seconds_sum{kind=\"%s\"} %.6f\n",
			check_kind_name(kind), counters->probes[kind][CHECK_PASSED], check_kind_name(kind),
			(double)counters->latency_us[kind] / 1e6);
}

static void print_daemon(FILE *to, const struct monitor *monitor)
{
	const struct publisher *publisher = &monitor->publisher;
	const struct reload_hook *hook = &publisher->reload_hook;

	counter(to, "transitions", "verdicts that changed", monitor->counters.transitions);
	counter(to, "src_loads", "how often src was loaded", monitor->counters.loads);
	counter(to, "src_refused", "how often src was refused", monitor->counters.failed_loads);
	gauge(to, "src_bad", "1 while src is refused and an older one is in use", monitor->error[0] != '\0');
	counter(to, "writes", "how often dst was written", publisher->writes);
	counter(to, "write_failures", "how often writing dst failed", publisher->failed_writes);
	gauge(to, "write_failing", "1 after a failed write of dst until one succeeds", publisher->failures != 0);
	counter(to, "reloads", "how often the reload hook ran", hook->runs);
	counter(to, "reload_failures", "how often the reload hook failed", hook->failed_runs);
	gauge(to, "reload_failing", "1 after a failed reload hook until one succeeds", hook->failures != 0);
	gauge(to, "director_stale", "1 if the director uses another table than the one that was built",
		hook->director == RELOAD_HOOK_DIRECTOR_STALE);
	gauge(to, "director_unverified", "1 if the director was notified, but does not tell which table it uses",
		hook->director == RELOAD_HOOK_DIRECTOR_UNKNOWN);
	gauge(to, "checks", "number of different checks", monitor->list.check_count);
	gauge(to, "probes_running", "probes in progress", monitor_running(monitor));
	family(to, "stalled_seconds", "counter", "time in which glb-healthcheck could not run");
	fprintf(to, "glb_healthcheck_stalled_seconds_total %.3f\n",
		(double)pulse_meter_stalled(&monitor->env.pulse.meter, clock_now_us()) / 1e6);
	counter(to, "delayed", "how often max_concurrent or max_commands delayed a probe",
		monitor->scheduler.delayed + monitor->command_scheduler.delayed);
	if (monitor->env.tunnel) {
		const struct tunnel_counters *tunnel = tunnel_counters(monitor->env.tunnel);

		counter(to, "tunnel_replies", "echo replies that belonged to a probe", tunnel->replies);
		counter(to, "tunnel_foreign",
			"echo replies with the identifier of this daemon that were ignored: late, altered, or from another address",
			tunnel->foreign);
	}
}

char *status_metrics(const struct monitor *monitor)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	print_tables(to, monitor);
	print_checks(to, monitor);
	print_probes(to, &monitor->counters);
	print_daemon(to, monitor);
	fputs("# EOF\n", to);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
