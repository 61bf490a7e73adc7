/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "common/clock.h"
#include "healthcheck/checks/check_tunnel.h"
#include "healthcheck/http/page.h"

static bool write_tables(struct page *page)
{
	const struct table_set *set = &page->monitor->list.document.set;
	char label[16];

	if (!page->fact)
		page->fact = verdicts_facts;
	if (!page->fact->help)
		return false;
	if (page->table == 0)
		facts_family(&page->to, page->fact);
	for (unsigned i = 0; i < PAGE_AT_ONCE && page->table < set->count; i++, page->table++)
		facts_sample(&page->to, page->fact, OPENMETRICS_LABELS({"table", table_label(set, page->table, label)}),
			&page->monitor->publisher.verdicts[page->table]);
	if (page->table == set->count) {
		page->fact++;
		page->table = 0;
	}
	return true;
}

static bool write_backends(struct page *page)
{
	const struct checklist *list = &page->monitor->list;
	const struct table_set *set = &list->document.set;
	char label[16], ip[NETADDR_TEXT_MAX];

	if (page->table == 0 && page->item == 0)
		openmetrics_family(&page->to, "backend_healthy", OPENMETRICS_GAUGE,
			"0 if the backend's verdict is unhealthy, even if dst has it as healthy");
	if (page->table == set->count)
		return false;
	table_label(set, page->table, label);
	for (unsigned i = 0; i < PAGE_AT_ONCE && page->item < set->tables[page->table].backend_count; i++, page->item++)
		openmetrics_number(&page->to,
			OPENMETRICS_LABELS({"table", table_label(set, page->table, label)},
				{"backend", netaddr_format(&set->tables[page->table].backends[page->item].addr, ip)}),
			checklist_verdict(list, page->table, page->item) != DAMPER_UNHEALTHY);
	if (page->item == set->tables[page->table].backend_count) {
		page->table++;
		page->item = 0;
	}
	return true;
}

/* The numbers of a check. NAN: there is none yet. */
struct check_numbers {
	double healthy, age_s, expires_s;
};

static const struct fact check_facts[] = {
	{"check_healthy", NULL, OPENMETRICS_GAUGE, FACTS_AT(struct check_numbers, healthy),
		"1 if the check's verdict is healthy, 0 if unhealthy; absent before the first verdict"},
	{"check_result_age_seconds", NULL, OPENMETRICS_GAUGE, FACTS_AT(struct check_numbers, age_s),
		"time since the check last passed or failed"},
	{"check_tls_expiry_timestamp_seconds", NULL, OPENMETRICS_GAUGE, FACTS_AT(struct check_numbers, expires_s),
		"Unix time when the first certificate of the proxy's chain expires"},
	{0},
};

static bool write_checks(struct page *page)
{
	const struct checklist *list = &page->monitor->list;

	if (!page->fact)
		page->fact = check_facts;
	if (!page->fact->help)
		return false;
	if (page->item == 0)
		facts_family(&page->to, page->fact);
	for (unsigned i = 0; i < PAGE_AT_ONCE && page->item < list->check_count; i++, page->item++) {
		const struct check *check = list->checks[page->item];
		const struct check_numbers numbers = {
			.healthy = check->damper.verdict == DAMPER_UNKNOWN ? NAN : check->damper.verdict == DAMPER_HEALTHY,
			.age_s = check->judged_ms ? (double)check_age_ms(check, clock_now_ms()) / 1e3 : NAN,
			.expires_s = check->tls_expires_s ? (double)check->tls_expires_s : NAN,
		};

		facts_sample(&page->to, page->fact, OPENMETRICS_LABELS({"check", check->name}), &numbers);
	}
	if (page->item == list->check_count) {
		page->fact++;
		page->item = 0;
	}
	return true;
}

static void write_probes(struct openmetrics *to, const struct monitor_counters *counters)
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

static bool write_daemon(struct page *page)
{
	const struct monitor *monitor = page->monitor;

	facts_metrics(&page->to, monitor_list_facts, monitor);
	write_probes(&page->to, &monitor->counters);
	facts_metrics(&page->to, monitor_facts, monitor);
	if (monitor->env.tunnel)
		facts_metrics(&page->to, check_tunnel_facts, check_tunnel_counters(monitor->env.tunnel));
	openmetrics_end(&page->to);
	return false;
}

page_part *const page_metrics[] = {write_tables, write_backends, write_checks, write_daemon, NULL};
