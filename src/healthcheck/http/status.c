/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "healthcheck/checks/check_http.h"
#include "healthcheck/http/page.h"
#include "table/file/json/json_text.h"

/* Real numbers as people write them: 0.1, not 0.10000000000000001. */
#define STATUS_JSON (JSON_COMPACT | JSON_REAL_PRECISION(15))

static json_t *check_json(const struct check *check)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:f, s:i, s:I, s:I, s:i, s:I, s:I}", "check", check->name, "verdict",
		damper_name(check->damper.verdict), "result",
		check->probes ? check_result_name(check->result) : "none yet", "reason", json_text(check->reason),
		"latency_ms", (double)check->latency_us / 1e3, "against_verdict", (int)check->damper.streak, "changed",
		(json_int_t)check->changed_s, "held_ms", (json_int_t)damper_held_ms(&check->damper, clock_now_ms()),
		"flaps", (int)check->damper.flaps, "age_ms", (json_int_t)check_age_ms(check, clock_now_ms()),
		"tls_expires", (json_int_t)check->tls_expires_s);
}

static json_t *backend_json(const struct checklist *list, uint32_t table, uint32_t backend)
{
	const struct table_backend *entry = &list->document.set.tables[table].backends[backend];
	char ip[NETADDR_TEXT_MAX];
	json_t *checks = json_array();

	for (size_t i = list->first[table][backend]; i < list->first[table][backend + 1]; i++)
		json_array_append_new(checks, check_json(list->checks[list->uses[i].check]));
	return json_pack("{s:s, s:s, s:s, s:b, s:o}", "ip", netaddr_format(&entry->addr, ip), "state",
		table_state_name(entry->state), "verdict", damper_name(checklist_verdict(list, table, backend)),
		"healthy", entry->healthy, "checks", checks);
}

static json_t *trust_json(const struct http *http)
{
	json_t *list = json_array();

	for (const struct http_trust *trust = check_http_trust_list(http); trust; trust = trust->next)
		json_array_append_new(list,
			json_pack("{s:o, s:I, s:I, s:o}", "file", json_text(trust->file ? trust->file : trust->folder),
				"loads", (json_int_t)trust->loads, "refused", (json_int_t)trust->refused, "error",
				json_text(trust->error)));
	return list;
}

/* Writes an object without its last brace, so that members can follow. */
static void print_open(FILE *to, json_t *object)
{
	char *text = json_dumps(object, STATUS_JSON);

	if (text)
		fprintf(to, "%.*s", (int)strlen(text) - 1, text);
	free(text);
	json_decref(object);
}

static void print_head(struct openmetrics *page, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	const struct publisher *publisher = &monitor->publisher;
	const struct reload_hook *hook = &publisher->reload_hook;

	(void)table;
	(void)item;
	print_open(page->to,
		json_pack("{s:s, s:b, s:{s:o, s:I, s:I, s:o, s:I}, s:{s:o, s:I, s:I, s:o}, s:{s:s, s:I, s:I, s:o, s:s}, s:i, s:o}",
			"version", GLB_VERSION, "ready", monitor->ready, "src", "file", json_text(monitor->conf->src),
			"loads", (json_int_t)monitor->counters.loads, "refused",
			(json_int_t)monitor->counters.failed_loads, "error", json_text(monitor->error), "signals",
			(json_int_t)monitor->counters.signals, "dst", "file", json_text(monitor->conf->dst), "writes",
			(json_int_t)publisher->writes, "failed", (json_int_t)publisher->failed_writes, "error",
			json_text(publisher->error), "reload", "state", reload_hook_state_name(hook->state), "runs",
			(json_int_t)hook->runs, "failed", (json_int_t)hook->failed_runs, "error",
			json_text(hook->error), "director", reload_hook_director_name(hook->director), "running",
			(int)monitor_running(monitor), "trust", trust_json(monitor->env.http)));
	fputs(",\n\"tables\":[", page->to);
}

static void print_table_head(FILE *to, const struct monitor *monitor, uint32_t table)
{
	const struct table_set *set = &monitor->list.document.set;
	const struct verdicts *verdicts = &monitor->publisher.verdicts[table];
	char label[16];

	fputs(table ? ",\n" : "\n", to);
	print_open(to, json_pack("{s:s, s:b, s:i}", "name", table_label(set, table, label), "panic", verdicts->panic,
			       "kept_by_panic", (int)verdicts->kept));
	fputs(",\"backends\":[", to);
}

static void print_backend(struct openmetrics *page, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	json_t *backend;

	if (item == 0)
		print_table_head(page->to, monitor, table);
	if (item == monitor->list.document.set.tables[table].backend_count) {
		fputs("]}", page->to);
		return;
	}
	backend = backend_json(&monitor->list, table, item);
	fputs(item ? ",\n" : "\n", page->to);
	json_dumpf(backend, page->to, STATUS_JSON);
	json_decref(backend);
}

static void print_end(struct openmetrics *page, const struct monitor *monitor, uint32_t table, uint32_t item)
{
	(void)monitor;
	(void)table;
	(void)item;
	fputs("]}\n", page->to);
}

const struct page_section page_status[] = {
	{PAGE_ONCE, print_head},
	{PAGE_BACKENDS, print_backend},
	{PAGE_ONCE, print_end},
	{0},
};
