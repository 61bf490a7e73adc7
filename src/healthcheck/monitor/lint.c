/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/monitor/lint.h"

#include <stdio.h>
#include <string.h>

static void lint_timing(const struct table_document *document, const struct conf *conf, struct faults *faults)
{
	for (uint32_t t = 0; t < document->set.count; t++) {
		struct check_timing timing = conf->timing;
		char label[16];

		table_health_timing(&document->health, t, &timing);
		if (timing.timeout_ms >= timing.interval_ms)
			faults_warn(faults, NULL,
				"table %s: timeout_ms %u is not less than interval_ms %u: a check that times out runs less often",
				table_label(&document->set, t, label), timing.timeout_ms, timing.interval_ms);
	}
}

/* Reports settings that contradict each other only together: those of src and of healthcheck.conf. */
static void lint_http(const struct table_document *document, const struct conf *conf, struct faults *faults)
{
	for (uint32_t t = 0; t < document->set.count; t++)
		for (uint32_t b = 0; b < document->set.tables[t].backend_count; b++) {
			struct http_settings settings = {0};
			char where[64], label[16];
			const char *fault;

			if (!document->health.tables[t].backends[b].ports[CHECK_HTTP])
				continue;
			conf_http_of(conf, table_label(&document->set, t, label), &settings);
			table_health_http(&document->health, t, b, &settings);
			fault = http_settings_fault(&settings);
			snprintf(where, sizeof(where), "tables[%u].backends[%u].healthchecks", t, b);
			if (fault)
				faults_error(faults, where, "together with healthcheck.conf: %s", fault);
		}
}

/* Writes the names of the commands: "db, web". */
static void list_commands(const struct conf_commands *commands, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "%s", commands->count ? "" : "none");

	for (size_t i = 0; i < commands->count && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", commands->items[i].name);
}

/* An error for each backend whose command is not in healthcheck.conf. */
static void lint_commands(const struct table_document *document, const struct conf *conf, struct faults *faults)
{
	char where[64], known[256];

	list_commands(&conf->commands, known, sizeof(known));
	for (uint32_t t = 0; t < document->set.count; t++)
		for (uint32_t b = 0; b < document->set.tables[t].backend_count; b++) {
			const char *name = document->health.tables[t].backends[b].texts[CHECK_COMMAND];

			if (!name || conf_commands_find(&conf->commands, name))
				continue;
			snprintf(where, sizeof(where), "tables[%u].backends[%u].healthchecks.command", t, b);
			faults_error(
				faults, where, "'%s' is not one of the commands in healthcheck.conf: %s", name, known);
		}
}

static bool has_table(const struct table_set *set, const char *name)
{
	char label[16];

	for (uint32_t t = 0; t < set->count; t++)
		if (strcmp(table_label(set, t, label), name) == 0)
			return true;
	return false;
}

void lint_src(const struct table_document *document, const struct conf *conf, struct faults *faults)
{
	lint_timing(document, conf, faults);
	lint_http(document, conf, faults);
	lint_commands(document, conf, faults);
	table_health_warn(&document->health, faults);
	for (size_t i = 0; i < conf->table_count; i++)
		if (!has_table(&document->set, conf->tables[i].name))
			faults_warn(faults, NULL, "has no table '%s', but `tables` in healthcheck.conf names it",
				conf->tables[i].name);
}
