/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/clock.h"
#include "healthcheck/checks/check_http.h"
#include "healthcheck/checks/check_tunnel.h"
#include "healthcheck/http/page.h"

static void print_table(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t value)
{
	char buf[16];

	openmetrics_number(
		to, OPENMETRICS_LABELS({"table", table_label(&monitor->list.document.set, table, buf)}), value);
}

static void print_panic(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	(void)item;
	if (table == 0)
		openmetrics_family(to, "table_panic", OPENMETRICS_GAUGE,
			"1 if too few backends are healthy, so that all count as healthy");
	print_table(to, monitor, table, monitor->publisher.verdicts[table].panic);
}

static void print_kept(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	(void)item;
	if (table == 0)
		openmetrics_family(to, "table_kept_by_panic", OPENMETRICS_GAUGE,
			"unhealthy backends that are in service only because of panic");
	print_table(to, monitor, table, monitor->publisher.verdicts[table].kept);
}

static void print_backend(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	const struct table_set *set = &monitor->list.document.set;
	char buf[16], ip[NETADDR_TEXT_MAX];

	if (table == 0 && item == 0)
		openmetrics_family(to, "backend_healthy", OPENMETRICS_GAUGE,
			"0 if the backend's verdict is unhealthy, even if dst has it as healthy");
	if (item == set->tables[table].backend_count)
		return;
	netaddr_format(&set->tables[table].backends[item].addr, ip);
	openmetrics_number(to, OPENMETRICS_LABELS({"table", table_label(set, table, buf)}, {"backend", ip}),
		checklist_verdict(&monitor->list, table, item) != DAMPER_UNHEALTHY);
}

static void print_healthy(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	const struct check *check = monitor->list.checks[item];

	(void)table;
	if (check->damper.verdict == DAMPER_UNKNOWN)
		return;
	openmetrics_number(to, OPENMETRICS_LABELS({"check", check->name}), check->damper.verdict == DAMPER_HEALTHY);
}

static void print_age(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	const struct check *check = monitor->list.checks[item];

	(void)table;
	if (!check->judged_ms)
		return;
	openmetrics_real(
		to, OPENMETRICS_LABELS({"check", check->name}), (double)check_age_ms(check, clock_now_ms()) / 1e3);
}

static void print_expiry(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	const struct check *check = monitor->list.checks[item];

	(void)table;
	if (!check->tls_expires_s)
		return;
	openmetrics_real(to, OPENMETRICS_LABELS({"check", check->name}), (double)check->tls_expires_s);
}

/* The header of a family that may have no samples. */
#define HEADER(function, name, help)                                                                               \
	static void function(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t item) \
	{                                                                                                          \
		(void)monitor;                                                                                     \
		(void)table;                                                                                       \
		(void)item;                                                                                        \
		openmetrics_family(to, name, OPENMETRICS_GAUGE, help);                                             \
	}

HEADER(head_healthy, "check_healthy",
	"1 if the check's verdict is healthy, 0 if unhealthy; absent before the first verdict")
HEADER(head_age, "check_result_age_seconds", "time since the check last passed or failed")
HEADER(head_expiry, "check_tls_expiry_timestamp_seconds",
	"Unix time when the first certificate of the proxy's chain expires")

static void print_checks(struct openmetrics *to, const struct checklist *list)
{
	uint64_t held = 0, frozen = 0, now = clock_now_ms();

	for (uint32_t i = 0; i < list->check_count; i++) {
		const struct check *check = list->checks[i];

		held += check->damper.flaps && damper_held_ms(&check->damper, now);
		frozen += check->probes && check->result == CHECK_NOT_RUN;
	}
	openmetrics_gauge(
		to, "checks_flapping", "checks that stay unhealthy for longer than hold_ms, because they flap", held);
	openmetrics_gauge(to, "checks_frozen",
		"checks whose last probe could not run on this host, so that their verdict is old", frozen);
}

static void print_trust(struct openmetrics *to, const struct http *http)
{
	uint64_t loads = 0, refused = 0, bad = 0;

	for (const struct http_trust *trust = check_http_trust_list(http); trust; trust = trust->next) {
		loads += trust->loads;
		refused += trust->refused;
		bad += trust->error[0] != '\0';
	}
	openmetrics_counter(to, "trust_loads", "how often files of trusted certificates were loaded", loads);
	openmetrics_counter(to, "trust_refused", "how often files of trusted certificates were refused", refused);
	openmetrics_gauge(to, "trust_bad", "number of files of trusted certificates that are refused", bad);
}

static void print_probes(struct openmetrics *to, const struct monitor_counters *counters)
{
	openmetrics_family(to, "probes", OPENMETRICS_COUNTER, "finished probes, by kind and result");
	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++)
		for (enum check_result result = 0; result < CHECK_RESULT_COUNT; result++)
			openmetrics_number(to,
				OPENMETRICS_LABELS(
					{"kind", check_kinds[kind].name}, {"result", check_result_name(result)}),
				counters->probes[kind][result]);
	openmetrics_family(to, "latency_seconds", OPENMETRICS_SUMMARY, "duration of probes that passed");
	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++)
		openmetrics_summary(to, OPENMETRICS_LABELS({"kind", check_kinds[kind].name}),
			counters->probes[kind][CHECK_PASSED], (double)counters->latency_us[kind] / 1e6);
}

static void print_daemon(struct openmetrics *to, const struct monitor *monitor)
{
	const struct publisher *publisher = &monitor->publisher;
	const struct reload_hook *hook = &publisher->reload_hook;

	openmetrics_counter(to, "transitions", "verdicts that changed", monitor->counters.transitions);
	openmetrics_counter(to, "src_loads", "how often src was loaded", monitor->counters.loads);
	openmetrics_counter(to, "src_refused", "how often src was refused", monitor->counters.failed_loads);
	openmetrics_gauge(to, "src_bad", "1 while src is refused and an older one is in use", monitor->error[0] != '\0');
	openmetrics_counter(to, "writes", "how often dst was written", publisher->writes);
	openmetrics_counter(to, "write_failures", "how often writing dst failed", publisher->failed_writes);
	openmetrics_gauge(
		to, "write_failing", "1 after a failed write of dst until one succeeds", publisher->failures != 0);
	openmetrics_counter(to, "reloads", "how often the reload hook ran", hook->runs);
	openmetrics_counter(to, "reload_failures", "how often the reload hook failed", hook->failed_runs);
	openmetrics_gauge(to, "reload_failing", "1 after a failed reload hook until one succeeds", hook->failures != 0);
	openmetrics_gauge(to, "director_stale", "1 if the director uses another table than the one that was built",
		hook->director == RELOAD_HOOK_DIRECTOR_STALE);
	openmetrics_gauge(to, "director_unverified",
		"1 if the director was notified, but does not tell which table it uses",
		hook->director == RELOAD_HOOK_DIRECTOR_UNKNOWN);
	openmetrics_gauge(to, "checks", "number of different checks", monitor->list.check_count);
	openmetrics_gauge(to, "probes_running", "probes in progress", monitor_running(monitor));
	openmetrics_family(to, "stalled_seconds", OPENMETRICS_COUNTER, "time in which glb-healthcheck could not run");
	openmetrics_real(to, OPENMETRICS_NO_LABELS,
		(double)pulse_meter_stalled(&monitor->env.pulse.meter, clock_now_us()) / 1e6);
	openmetrics_counter(to, "delayed", "how often max_concurrent or max_commands delayed a probe",
		monitor->scheduler.delayed + monitor->command_scheduler.delayed);
	openmetrics_counter(to, "tls_handshakes", "completed TLS handshakes with proxies", monitor->env.handshakes);
	openmetrics_counter(to, "tls_resumed",
		"completed TLS handshakes that resumed a session, so that no certificate was seen", monitor->env.resumed);
	if (monitor->env.tunnel) {
		const struct tunnel_counters *tunnel = check_tunnel_counters(monitor->env.tunnel);

		openmetrics_counter(to, "tunnel_replies", "echo replies that belonged to a probe", tunnel->replies);
		openmetrics_counter(to, "tunnel_foreign",
			"echo replies with the identifier of this daemon that were ignored: late, altered, or from another address",
			tunnel->foreign);
	}
}

static void print_rest(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	(void)table;
	(void)item;
	print_checks(to, &monitor->list);
	print_trust(to, monitor->env.http);
	print_probes(to, &monitor->counters);
	print_daemon(to, monitor);
	openmetrics_end(to);
}

const struct page_section page_metrics[] = {
	{PAGE_TABLES, print_panic},
	{PAGE_TABLES, print_kept},
	{PAGE_BACKENDS, print_backend},
	{PAGE_ONCE, head_healthy},
	{PAGE_CHECKS, print_healthy},
	{PAGE_ONCE, head_age},
	{PAGE_CHECKS, print_age},
	{PAGE_ONCE, head_expiry},
	{PAGE_CHECKS, print_expiry},
	{PAGE_ONCE, print_rest},
	{0},
};
