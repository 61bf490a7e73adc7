/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file/file.h"
#include "fleet/fleet.h"
#include "program/http/http_server.h"
#include "program/log.h"
#include "program/service.h"
#include "table/file/json/json_text.h"

#define AT(member) FACTS_AT(struct fleet, member)

const struct fact status_facts[] = {
	{"connected", NULL, OPENMETRICS_GAUGE, AT(gauges.connected), "1 while etcd replies"},
	{"unconnected_seconds", NULL, OPENMETRICS_GAUGE, AT(gauges.unconnected_s),
		"time since etcd replied last; 0 while it replies"},
	{"watch", NULL, OPENMETRICS_GAUGE, AT(gauges.watch), "1 while changes of the table in etcd are noticed at once"},
	{"table_unconfirmed", NULL, OPENMETRICS_GAUGE, AT(desired.unconfirmed),
		"1 while etcd has an older table than before, and glb-fleet accept has not confirmed it"},
	{"table_missing", NULL, OPENMETRICS_GAUGE, AT(desired.gone), "1 while etcd has no table"},
	{"table_refused", NULL, OPENMETRICS_GAUGE, AT(gauges.refused), "1 while the table in etcd is refused"},
	{"table_failing", NULL, OPENMETRICS_GAUGE, AT(gauges.failing),
		"1 while a good table could not be written or given to the director"},
	{"revision_seen", NULL, OPENMETRICS_GAUGE, AT(desired.revision), "revision of the table in etcd"},
	{"revision_applied", NULL, OPENMETRICS_GAUGE, AT(desired.state.applied),
		"revision of the table in the file of this director"},
	{"revision_used", NULL, OPENMETRICS_GAUGE, AT(gauges.revision_used),
		"revision of the table that the director uses; 0: it is not from etcd, or the director does not tell"},
	{"director_answers", NULL, OPENMETRICS_GAUGE, AT(look.answers), "1 while the director tells which table it uses"},
	{"published", NULL, OPENMETRICS_GAUGE, AT(gauges.published), "1 while etcd has the record of this director"},
	{"name_conflict", NULL, OPENMETRICS_GAUGE, AT(gauges.conflict), "1 while another agent has the same name"},
	{"leads", NULL, OPENMETRICS_GAUGE, AT(gauges.leads), "1 if this agent advances the roll-outs of the fleet"},
	{"rollout_active", NULL, OPENMETRICS_GAUGE, AT(gauges.rollout_active),
		"1 while the fleet has a roll-out that has not ended"},
	{"rollout_paused", NULL, OPENMETRICS_GAUGE, AT(gauges.rollout_paused),
		"1 while a roll-out is paused, by an operator or until one proves its wait"},
	{"rollout_stopped", NULL, OPENMETRICS_GAUGE, AT(gauges.rollout_stopped),
		"1 while a roll-out is stopped, because a step was refused, made a director worse, or took too long"},
	{"rollout_step", NULL, OPENMETRICS_GAUGE, AT(gauges.rollout_step),
		"step in use of the roll-out that has not ended; 0: the table before, or there is none"},
	{"tables_applied", NULL, OPENMETRICS_COUNTER, AT(desired.numbers.applied),
		"tables that were written and given to the director"},
	{"tables_refused", NULL, OPENMETRICS_COUNTER, AT(desired.numbers.refused), "tables that were refused"},
	{"tables_failed", NULL, OPENMETRICS_COUNTER, AT(desired.numbers.failed),
		"attempts to write a table or to give it to the director that failed"},
	{"tables_edited", NULL, OPENMETRICS_COUNTER, AT(desired.numbers.edited),
		"how often another program had changed the file of the table"},
	{0},
};

static void look(struct fleet *fleet)
{
	const struct etcd_state *etcd = etcd_state(fleet->etcd);
	const struct desired *desired = &fleet->desired;
	const struct leader_state *leader = leader_state(fleet->leader);
	const struct rollout *rollout = leader->rollout && rollout_is_active(leader->rollout) ? leader->rollout : NULL;

	fleet->gauges = (struct fleet_gauges){
		.connected = etcd->connected,
		.watch = etcd_mirror_is_current(fleet->table),
		.published = fleet->record.published && fleet->record.lease &&
			     fleet->record.lease == etcd_lease_id(fleet->lease),
		.refused = desired->refused_revision != 0,
		.failing = desired->error[0] != '\0',
		.conflict = fleet->record.conflict[0] != '\0',
		.leads = leader->leads,
		.rollout_active = rollout,
		.rollout_paused = rollout && rollout->state == ROLLOUT_PAUSED,
		.rollout_stopped = rollout && rollout->state == ROLLOUT_STOPPED,
		.rollout_step = rollout ? rollout->step : 0,
		.unconnected_s = etcd->connected ? 0 : (double)(clock_now_ms() - etcd->since_ms) / 1e3,
		.revision_used = fleet_used_revision(fleet),
	};
}

/* The page is short, so it is written at once. */
struct page {
	struct openmetrics to;
	struct fleet *fleet;
};

static bool begin_metrics(void *state, void *fleet, uint32_t format)
{
	look(fleet);
	*(struct page *)state = (struct page){{.format = format, .prefix = "glb_fleet_"}, fleet};
	return true;
}

static enum http_more write_metrics(void *state, FILE *to)
{
	struct page *page = state;

	page->to.to = to;
	facts_metrics(&page->to, status_facts, page->fleet);
	openmetrics_family(&page->to, "build", OPENMETRICS_INFO, "version of the program");
	openmetrics_info(&page->to, OPENMETRICS_LABELS({"version", GLB_VERSION}, {"name", page->fleet->conf.name}));
	openmetrics_end(&page->to);
	return HTTP_END;
}

#define STATE .state_size = sizeof(struct page), .write = write_metrics

static const struct http_route routes[] = {
	{.path = "/metrics", .accept = OPENMETRICS_MEDIA, .type = OPENMETRICS_TYPE, .begin = begin_metrics, STATE},
	{.path = "/metrics", .type = OPENMETRICS_TYPE_LEGACY, .begin = begin_metrics, .number = OPENMETRICS_LEGACY, STATE},
	{0},
};

bool status_listen(struct fleet *fleet, struct faults *faults)
{
	const struct endpoint *listen = &fleet->conf.listen;
	char text[ENDPOINT_TEXT_MAX];
	int error;

	if (!listen->has_port)
		return true;
	error = http_server_open(&fleet->http, &listen->addr, listen->port, routes, fleet);
	if (error)
		faults_error(faults, "listen", "cannot serve on %s: %s", endpoint_format(listen, text), strerror(-error));
	return !error;
}

/* The one thing that an operator must know first. */
static void write_line(const struct fleet *fleet, char *line, size_t size)
{
	const struct desired *desired = &fleet->desired;
	const struct etcd_state *etcd = etcd_state(fleet->etcd);
	char table[100];

	if (desired->state.applied)
		snprintf(table, sizeof(table), "table of revision %" PRIu64 "%s", desired->state.applied,
			!fleet->look.answers                                   ? ", the director does not answer"
			: fleet_used_revision(fleet) == desired->state.applied ? ", in use"
									       : ", the director uses another one");
	else
		snprintf(table, sizeof(table), "no table from etcd yet");
	if (fleet->record.conflict[0])
		snprintf(line, size, "%s; %s", table, fleet->record.conflict);
	else if (!etcd->connected)
		snprintf(line, size, "%s; etcd does not reply, the table stays in use: %s", table, etcd->error);
	else if (*etcd_mirror_error(fleet->table))
		snprintf(line, size, "%s; %s", table, etcd_mirror_error(fleet->table));
	else if (desired->refused_revision)
		snprintf(line, size, "%s; revision %" PRIu64 " is refused: %.850s", table, desired->refused_revision,
			desired->refusal);
	else if (desired->error[0])
		snprintf(line, size, "%s; not in use yet: %.850s", table, desired->error);
	else
		snprintf(line, size, "%s%s", table, desired->gone ? "; the key does not exist in etcd" : "");
}

static json_t *describe_rollout(const struct fleet *fleet)
{
	const struct leader_state *leader = leader_state(fleet->leader);
	const struct rollout *rollout = leader->rollout;

	if (!rollout)
		return json_null();
	return json_pack("{s:s, s:s, s:I, s:s, s:o, s:o}", "id", rollout->id, "state",
		rollout_state_name(rollout->state), "step", (json_int_t)rollout->step, "leader", leader->name, "reason",
		json_text(rollout->state == ROLLOUT_STOPPED ? rollout->reason : leader->reason), "error",
		json_text(leader->error));
}

static json_t *describe(const struct fleet *fleet, const char *line)
{
	const struct etcd_state *etcd = etcd_state(fleet->etcd);
	const struct desired *desired = &fleet->desired;
	char cluster[TEXT_HEX64];
	static uint64_t since_ms;
	static int64_t since;

	if (since_ms != etcd->since_ms)
		since = (int64_t)time(NULL) - (int64_t)((clock_now_ms() - etcd->since_ms) / 1000);
	since_ms = etcd->since_ms;
	return json_pack("{s:o, s:I, s:{s:b, s:I, s:s, s:s, s:s}, s:I, s:b, s:s, s:s, s:b, s:o, s:o}", "summary",
		json_text(line), "pid", (json_int_t)getpid(), "etcd", "connected", etcd->connected, "since",
		(json_int_t)since, "endpoint", etcd->endpoint ? etcd->endpoint : "", "error", etcd->error, "cluster",
		text_hex64(etcd->cluster, cluster), "applied", (json_int_t)desired->state.applied, "unconfirmed",
		desired->unconfirmed, "failing", desired->error, "conflict", fleet->record.conflict, "saved",
		!desired->unsaved, "director", record_describe(fleet), "rollout", describe_rollout(fleet));
}

/* The director is of another group, and its page shows what the file says. */
static int replace_for_all(const char *path, const char *text, struct faults *faults)
{
	mode_t mask = umask(0022);
	int error = file_replace(path, NULL, text, strlen(text), faults);

	umask(mask);
	return error;
}

/* Writes the file unless it has this status. */
static void write_file(const struct fleet *fleet, const char *line)
{
	static json_t *written;
	struct faults faults = {.file = fleet->conf.status_file};
	json_t *status = describe(fleet, line);
	char *text = json_equal(status, written) ? NULL : json_dumps(status, JSON_INDENT(2));

	json_decref(written);
	written = status;
	if (text && replace_for_all(fleet->conf.status_file, text, &faults)) {
		log_limited(LOG_LEVEL_WARNING, "the status is not written: %s", faults_first_error(&faults));
		json_decref(written);
		written = NULL;
	}
	free(text);
	faults_clear(&faults);
}

void status_step(struct fleet *fleet)
{
	static char last[1024];
	static bool was_connected = true, was_unreadable;
	const char *unreadable = etcd_mirror_error(fleet->table);
	char line[1024];
	bool connected = etcd_state(fleet->etcd)->connected;

	if (connected != was_connected && (connected || etcd_state(fleet->etcd)->error[0])) {
		if (connected)
			log_notice("etcd replies: %s", etcd_state(fleet->etcd)->endpoint);
		else
			log_error("etcd does not reply, the table stays in use: %s", etcd_state(fleet->etcd)->error);
		was_connected = connected;
	}
	if (*unreadable && !was_unreadable)
		log_error("%s; the table in use stays in use", unreadable);
	was_unreadable = *unreadable;
	write_line(fleet, line, sizeof(line));
	text_mend(line);
	if (strcmp(line, last) != 0)
		service_status(line);
	strcpy(last, line);
	write_file(fleet, line);
}
