/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "healthcheck/checks/check_http.h"
#include "healthcheck/http/page.h"
#include "program/facts_json.h"
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

static bool write_head(struct page *page)
{
	const struct monitor *monitor = page->monitor;
	const struct reload_hook *hook = &monitor->publisher.reload_hook;
	json_t *head = json_pack("{s:s, s:b, s:{s:o, s:o}, s:{s:o, s:o}, s:{s:s, s:o, s:s}, s:o}", "version",
		GLB_VERSION, "ready", monitor->ready, "src", "file", json_text(monitor->conf->src), "error",
		json_text(monitor->error), "dst", "file", json_text(monitor->conf->dst), "error",
		json_text(monitor->publisher.error), "reload", "state", reload_hook_state_name(hook->state), "error",
		json_text(hook->error), "director", reload_hook_director_name(hook->director), "trust",
		trust_json(monitor->env.http));

	facts_json(head, monitor_facts, monitor);
	print_open(page->to.to, head);
	fputs(",\n\"tables\":[", page->to.to);
	return false;
}

static void print_table_head(FILE *to, const struct monitor *monitor, uint32_t table)
{
	char label[16];
	json_t *head = json_pack("{s:s}", "name", table_label(&monitor->list.document.set, table, label));

	facts_json(head, verdicts_facts, &monitor->publisher.verdicts[table]);
	fputs(table ? ",\n" : "\n", to);
	print_open(to, head);
	fputs(",\"backends\":[", to);
}

static bool write_tables(struct page *page)
{
	const struct checklist *list = &page->monitor->list;
	const struct table_set *set = &list->document.set;
	json_t *backend;

	if (page->table == set->count) {
		fputs("]}\n", page->to.to);
		return false;
	}
	if (page->item == 0)
		print_table_head(page->to.to, page->monitor, page->table);
	if (page->item == set->tables[page->table].backend_count) {
		fputs("]}", page->to.to);
		page->table++;
		page->item = 0;
		return true;
	}
	backend = backend_json(list, page->table, page->item);
	fputs(page->item++ ? ",\n" : "\n", page->to.to);
	json_dumpf(backend, page->to.to, STATUS_JSON);
	json_decref(backend);
	return true;
}

page_part *const page_status[] = {write_head, write_tables, NULL};
