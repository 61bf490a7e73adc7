/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/http/status.h"

#include "common/clock.h"
#include "table/file/json_text.h"

static json_t *check_json(const struct check *check)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:f, s:i, s:I, s:I, s:i}", "check", check->name, "verdict",
		damper_name(check->damper.verdict), "result",
		check->probes ? check_result_name(check->result) : "none yet", "reason", json_text(check->reason),
		"latency_ms", (double)check->latency_us / 1e3, "against_verdict", (int)check->damper.streak, "changed",
		(json_int_t)check->changed_s, "held_ms", (json_int_t)damper_held_ms(&check->damper, clock_now_ms()),
		"flaps", (int)check->damper.flaps);
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

static json_t *table_json(const struct monitor *monitor, uint32_t table)
{
	const struct table *entry = &monitor->list.document.set.tables[table];
	json_t *backends = json_array();
	char label[16];

	for (uint32_t i = 0; i < entry->backend_count; i++)
		json_array_append_new(backends, backend_json(&monitor->list, table, i));
	return json_pack("{s:s, s:b, s:i, s:o}", "name", table_label(&monitor->list.document.set, table, label),
		"panic", monitor->publisher.verdicts[table].panic, "kept_by_panic",
		(int)monitor->publisher.verdicts[table].kept, "backends", backends);
}

char *status_json(const struct monitor *monitor)
{
	const struct publisher *publisher = &monitor->publisher;
	const struct reload_hook *hook = &publisher->reload_hook;
	json_t *tables = json_array(), *status;
	char *text;

	for (uint32_t i = 0; i < monitor->list.document.set.count; i++)
		json_array_append_new(tables, table_json(monitor, i));
	status = json_pack(
		"{s:s, s:b, s:{s:o, s:I, s:I, s:o}, s:{s:o, s:I, s:I, s:o}, s:{s:s, s:I, s:I, s:o, s:s}, s:i, s:o}",
		"version", GLB_VERSION, "ready", monitor->ready, "src", "file", json_text(monitor->conf->src), "loads",
		(json_int_t)monitor->counters.loads, "refused", (json_int_t)monitor->counters.failed_loads, "error",
		json_text(monitor->error), "dst", "file", json_text(monitor->conf->dst), "writes",
		(json_int_t)publisher->writes, "failed", (json_int_t)publisher->failed_writes, "error",
		json_text(publisher->error), "reload", "state", reload_hook_state_name(hook->state), "runs",
		(json_int_t)hook->runs, "failed", (json_int_t)hook->failed_runs, "error", json_text(hook->error),
		"director", reload_hook_director_name(hook->director), "running", (int)monitor_running(monitor),
		"tables", tables);
	text = json_dumps(status, JSON_INDENT(2));
	json_decref(status);
	return text;
}
