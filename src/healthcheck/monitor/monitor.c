/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/monitor/monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/container_of.h"
#include "common/text.h"
#include "healthcheck/checks/check_command.h"
#include "healthcheck/checks/check_http.h"
#include "healthcheck/checks/check_tunnel.h"
#include "healthcheck/monitor/expiry.h"
#include "healthcheck/monitor/lint.h"
#include "healthcheck/publish/state_file.h"
#include "program/log.h"
#include "program/timer.h"
#include "table/file/json/table_json.h"
#include "table/file/table_load.h"

/* Time between a change of a verdict and a save of the state, because verdicts often change together. */
#define SAVE_DELAY_S 0.1

static struct monitor *monitor_of(const struct probe *probe)
{
	return container_of(probe->env, struct monitor, env);
}

static struct check *check_of(struct probe *probe)
{
	return container_of(probe, struct check, probe);
}

/* Commands wait for each other, and no other check waits for them. */
static struct scheduler *scheduler_of(struct monitor *monitor, const struct check *check)
{
	return check->spec.kind == CHECK_COMMAND ? &monitor->command_scheduler : &monitor->scheduler;
}

/* Writes the names of the tables that use the check: "web, git". */
static void list_users(const struct checklist *list, const struct check *check, char *buf, size_t size)
{
	size_t used = 0;
	uint32_t last = UINT32_MAX;

	buf[0] = '\0';
	for (size_t i = 0; i < list->use_count && used < size; i++) {
		const struct checklist_use *use = &list->uses[i];
		char label[16];

		if (list->checks[use->check] != check || use->table == last)
			continue;
		last = use->table;
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
			table_label(&list->document.set, use->table, label));
	}
}

static void log_transition(struct monitor *monitor, const struct check *check, enum damper_verdict old)
{
	uint64_t held_ms = damper_held_ms(&check->damper, clock_now_ms());
	char ip[NETADDR_TEXT_MAX], tables[512], flaps[64] = "";

	if (held_ms && check->damper.flaps)
		snprintf(flaps, sizeof(flaps), "; it flaps, so it stays unhealthy for %" PRIu64 " s", held_ms / 1000);
	list_users(&monitor->list, check, tables, sizeof(tables));
	log_line(check->damper.verdict == DAMPER_HEALTHY ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING,
		"table %s: backend %s: %s: %s -> %s: %s, %.1f ms%s", tables, netaddr_format(&check->spec.addr, ip),
		check->name, damper_name(old), damper_name(check->damper.verdict), check->reason,
		(double)check->latency_us / 1e3, flaps);
}

static void become_ready(struct monitor *monitor)
{
	ev_timer_stop(monitor->loop, &monitor->ready_timer);
	if (!monitor->ready && monitor->on_ready)
		monitor->on_ready(monitor);
	monitor->ready = true;
}

/* Adds the result to the check's damper. Returns true if the verdict changed. */
static bool step(struct monitor *monitor, struct check *check)
{
	const struct damper_rule rule = {
		.trigger_healthy = check->timing.trigger_healthy,
		.trigger_unhealthy = check->timing.trigger_unhealthy,
		.hold_ms = monitor->conf->hold_ms,
		.hold_max_ms = monitor->conf->hold_max_ms,
	};
	bool wavered = damper_wavers(&check->damper), changed;

	changed = damper_step(&check->damper, check->result == CHECK_PASSED, &rule, clock_now_ms());
	monitor->list.wavering += damper_wavers(&check->damper);
	monitor->list.wavering -= wavered;
	return changed;
}

static void apply(struct monitor *monitor, struct check *check)
{
	enum damper_verdict old = check->damper.verdict;
	bool changed;

	/* The failure is local, so the proxy's verdict stays. */
	if (check->result == CHECK_NOT_RUN) {
		log_limited(LOG_LEVEL_ERROR, "check %s could not be run on this host, its verdict stays: %s",
			check->name, check->reason);
		return;
	}
	changed = step(monitor, check);
	if (!changed && !monitor->list.wavering && !monitor->on_all_done)
		publisher_settled(&monitor->publisher);
	if (!changed)
		return;
	check->changed_s = (int64_t)time(NULL);
	monitor->counters.transitions++;
	monitor->list.unknown -= old == DAMPER_UNKNOWN;
	if (monitor->on_all_done)
		return;
	log_transition(monitor, check, old);
	if (monitor->list.unknown == 0)
		become_ready(monitor);
	publisher_request(&monitor->publisher, &check->timing, check->damper.verdict == DAMPER_UNHEALTHY);
	if (!ev_is_active(&monitor->save))
		timer_restart(monitor->loop, &monitor->save, SAVE_DELAY_S);
}

static void arm_start(struct monitor *monitor)
{
	uint64_t now = clock_now_ms(), wait = scheduler_wait(&monitor->scheduler, now);
	uint64_t command_wait = scheduler_wait(&monitor->command_scheduler, now);

	if (command_wait < wait)
		wait = command_wait;
	ev_timer_stop(monitor->loop, &monitor->start);
	if (wait == SCHEDULER_NEVER)
		return;
	timer_restart(monitor->loop, &monitor->start, (double)wait / 1e3);
}

static void on_done(struct probe *probe)
{
	struct monitor *monitor = monitor_of(probe);
	struct check *check = check_of(probe);

	check->history[check->probes++ % CHECK_HISTORY] = (uint8_t)probe->result;
	check->result = probe->result;
	check->latency_us = probe->latency_us;
	memcpy(check->reason, probe->reason, sizeof(check->reason));
	if (probe->result != CHECK_NOT_RUN)
		check->judged_ms = clock_now_ms();
	if (probe->tls_expires_s) {
		check->tls_expires_s = probe->tls_expires_s;
		expiry_warn(check, (int64_t)time(NULL));
	}
	monitor->counters.probes[check->spec.kind][probe->result]++;
	if (probe->result == CHECK_PASSED)
		monitor->counters.latency_us[check->spec.kind] += probe->latency_us;
	if (monitor->conf->log_probes)
		log_info("%s: %s: %s, %.1f ms", check->name, check_result_name(check->result), check->reason,
			(double)check->latency_us / 1e3);
	apply(monitor, check);
	if (monitor->on_all_done) {
		scheduler_remove(scheduler_of(monitor, check), &check->entry);
		if (--monitor->unfinished == 0)
			monitor->on_all_done(monitor);
	} else {
		scheduler_done(scheduler_of(monitor, check), &check->entry, clock_now_ms());
	}
	arm_start(monitor);
}

static void start_due_of(struct scheduler *scheduler)
{
	struct scheduler_entry *entry;

	while ((entry = scheduler_start(scheduler, clock_now_ms()))) {
		struct check *check = container_of(entry, struct check, entry);

		probe_start(&check->probe, check->timing.timeout_ms);
	}
}

static void start_due(struct monitor *monitor)
{
	start_due_of(&monitor->scheduler);
	start_due_of(&monitor->command_scheduler);
	arm_start(monitor);
}

static void on_start(struct ev_loop *, ev_timer *timer, int)
{
	start_due(timer->data);
}

static void on_save(struct ev_loop *, ev_timer *timer, int)
{
	struct monitor *monitor = timer->data;

	state_file_save(monitor->conf->state_file, &monitor->list);
}

static void on_ready_timer(struct ev_loop *, ev_timer *timer, int)
{
	become_ready(timer->data);
}

/* Opens what the checks of this list need: curl, sockets. Returns false with an error in `faults` on failure. */
static bool open_env(struct monitor *monitor, const struct checklist *list, struct faults *faults)
{
	struct check_env *env = &monitor->env;

	if (!env->http && checklist_has(list, &check_http))
		env->http = check_http_open(monitor->loop, monitor->conf->watch && !monitor->on_all_done, faults);
	for (uint32_t i = 0; env->http && i < list->check_count; i++)
		if (list->checks[i]->spec.http && (i == 0 || list->checks[i]->spec.http != list->checks[i - 1]->spec.http))
			check_http_prepare(env->http, list->checks[i]->spec.http, faults);
	if (!env->tunnel && checklist_has(list, &check_tunnel))
		env->tunnel = check_tunnel_open(monitor->loop, monitor->conf, monitor->conf->max_concurrent, faults);
	if (!env->commands && checklist_has(list, &check_command))
		env->commands = check_command_open(monitor->loop, faults);
	return faults->errors == 0;
}

/*
 * Keeps a new src from emptying the service by accident, without knowing which tables have traffic. True: `new` may
 * replace `old`; there may be warnings in `faults`. False: `faults` has errors, and `loss` says in one line what would
 * vanish and what confirms it.
 */
static bool guard_allows(const struct table_set *old, const struct table_set *new, const struct conf *conf,
	struct faults *faults, char loss[TABLE_GUARD_TEXT_MAX])
{
	struct table_guard guard = {.old = old, .new = new, .max_shrink = conf->max_shrink};

	if (table_guard_allows(&guard, faults))
		return true;
	table_guard_refusal(&guard, faults, loss);
	return false;
}

/*
 * Builds the list from the text of src, unless it loses too much of the tables `old`; then `loss` says so. On failure
 * returns false with errors in `faults`; the old list is unchanged.
 */
static bool read_list(struct monitor *monitor, const char *text, size_t size, const struct table_set *old,
	struct checklist *list, struct faults *faults, char loss[TABLE_GUARD_TEXT_MAX])
{
	struct table_document document;

	*list = (struct checklist){0};
	loss[0] = '\0';
	if (table_json_parse_document(text, size, &document, faults))
		return false;
	if (!guard_allows(old, &document.set, monitor->conf, faults, loss)) {
		table_document_free(&document);
		return false;
	}
	lint_src(&document, monitor->conf, faults);
	if (!checklist_build(list, &document, monitor->conf))
		faults_error(faults, NULL, "out of memory");
	else if (open_env(monitor, list, faults) &&
		 (!scheduler_reserve(&monitor->scheduler, list->check_count) ||
			 !scheduler_reserve(&monitor->command_scheduler, list->check_count) ||
			 !checklist_adopt(list, &monitor->list)))
		faults_error(faults, NULL, "out of memory");
	if (!faults->errors)
		return true;
	checklist_free(list);
	return false;
}

/* Stops the checks that are left in the old list, and frees it. */
static void retire(struct monitor *monitor, struct checklist *old)
{
	for (uint32_t i = 0; i < old->check_count; i++) {
		struct check *check = old->checks[i];

		if (!check)
			continue;
		probe_close(&check->probe);
		scheduler_remove(scheduler_of(monitor, check), &check->entry);
	}
	checklist_free(old);
}

/* The first probes of new checks are spread over one interval, but over no more than this. */
#define SPREAD_MS 2000

/* Schedules the new checks. Returns how many milliseconds their first results may take. */
static uint64_t schedule_new(struct monitor *monitor)
{
	struct checklist *list = &monitor->list;
	uint64_t now = clock_now_ms(), longest = 0;

	for (uint32_t i = 0; i < list->check_count; i++) {
		struct check *check = list->checks[i];
		unsigned interval = check->timing.interval_ms;
		unsigned span = interval < SPREAD_MS ? interval : SPREAD_MS;
		uint64_t spread = scheduler_offset(i, list->check_count, span);
		uint64_t takes = (uint64_t)span + check->timing.timeout_ms;

		if (check->entry.interval_ms)
			continue; /* adopted */
		if (monitor->on_all_done)
			spread = 0;
		check->probe.env = &monitor->env;
		check->probe.spec = &check->spec;
		check->probe.method = check_methods[check->spec.kind];
		check->probe.done = on_done;
		scheduler_add(scheduler_of(monitor, check), &check->entry, now + spread, interval);
		if (check->damper.verdict == DAMPER_UNKNOWN && takes > longest)
			longest = takes;
	}
	return longest;
}

/* Added to the time that first results may take. */
#define GRACE_MS 500
/* The longest wait for first results. The unit's TimeoutStartSec is 90 s. */
#define FIRST_RESULTS_MAX_MS 60000

static void use_list(struct monitor *monitor, struct checklist *list)
{
	struct checklist old = monitor->list;
	uint64_t longest;

	monitor->list = *list;
	retire(monitor, &old);
	longest = schedule_new(monitor) + GRACE_MS;
	if (longest > FIRST_RESULTS_MAX_MS)
		longest = FIRST_RESULTS_MAX_MS;
	checklist_count(&monitor->list);
	monitor->counters.loads++;
	monitor->counters.loaded_s = (int64_t)time(NULL);
	log_info("%s: %" PRIu32 " table%s, %" PRIu32 " check%s, %" PRIu32 " without a verdict yet", monitor->conf->src,
		monitor->list.document.set.count, text_plural(monitor->list.document.set.count),
		monitor->list.check_count, text_plural(monitor->list.check_count), monitor->list.unknown);
	arm_start(monitor);
	if (monitor->on_all_done)
		return;
	publisher_new_list(&monitor->publisher, longest);
	if (!monitor->ready)
		timer_restart(monitor->loop, &monitor->ready_timer, monitor->list.unknown ? (double)longest / 1e3 : 0);
}

/* loss: why the guard refuses src; "": src has faults. */
static void refuse(struct monitor *monitor, const struct faults *faults, const char *loss)
{
	const char *error = loss[0] ? loss : faults_first_error(faults);

	monitor->counters.failed_loads++;
	if (strncmp(error, monitor->error, sizeof(monitor->error) - 1) == 0)
		return; /* already logged */
	snprintf(monitor->error, sizeof(monitor->error), "%s", error);
	log_error("src %s refused, the last good table stays in use:", monitor->conf->src);
	for (size_t i = 0; (!loss[0] || faults->errors > 1) && i < faults->count && i < 20; i++)
		if (!faults->items[i].warning)
			log_error("%s", faults->items[i].text);
	if (loss[0])
		log_error("%s", loss);
	else if (faults->errors > 20)
		log_error("there are more errors, to see them all: glb-director-cli check %s", monitor->conf->src);
}

static bool read_dst(struct monitor *monitor, struct checklist *list, struct faults *faults)
{
	char loss[TABLE_GUARD_TEXT_MAX], *text;
	size_t size;
	bool good;

	faults->file = monitor->conf->dst;
	if (table_load_text(monitor->conf->dst, &text, &size, faults))
		return false;
	good = read_list(monitor, text, size, &(struct table_set){0}, list, faults, loss);
	free(text);
	return good;
}

/* Reads dst, with which the first src is compared. The set is empty if there is no dst, or, with a warning in the log,
 * if it cannot be used. */
static struct table_set read_old(const char *dst)
{
	struct faults faults = {.file = dst};
	struct table_set set = {0};

	if (access(dst, F_OK) < 0 && errno == ENOENT)
		return set;
	if (table_load_json(dst, &set, &faults))
		log_warning("src is not compared with dst: %s", faults_first_error(&faults));
	faults_clear(&faults);
	return set;
}

/* Reads src. If it loses too much of dst, uses dst in its place, so that a restart does not empty the
 * service either. */
static bool read_first(struct monitor *monitor, struct checklist *list, struct faults *faults)
{
	char loss[TABLE_GUARD_TEXT_MAX];
	struct table_set dst = {0};
	bool good;

	if (!monitor->on_all_done)
		dst = read_old(monitor->conf->dst);
	good = read_list(monitor, monitor->text, monitor->text_size, &dst, list, faults, loss);
	table_set_free(&dst);
	if (good || !loss[0])
		return good;
	refuse(monitor, faults, loss);
	faults_clear(faults);
	log_warning("dst %s is used in place of src", monitor->conf->dst);
	return read_dst(monitor, list, faults);
}

int monitor_open(struct monitor *monitor, struct ev_loop *loop, const struct conf *conf,
	void (*on_all_done)(struct monitor *), struct faults *faults)
{
	struct checklist list;
	int error;

	*monitor = (struct monitor){.loop = loop, .conf = conf, .on_all_done = on_all_done};
	monitor->env = (struct check_env){.loop = loop, .conf = conf};
	monitor->scheduler.max_running = conf->max_concurrent;
	monitor->command_scheduler.max_running = conf->max_commands;
	ev_timer_init(&monitor->start, on_start, 0, 0);
	ev_timer_init(&monitor->save, on_save, 0, 0);
	ev_timer_init(&monitor->ready_timer, on_ready_timer, 0, 0);
	monitor->start.data = monitor->save.data = monitor->ready_timer.data = monitor;

	faults->file = conf->src;
	error = table_load_text(conf->src, &monitor->text, &monitor->text_size, faults);
	if (error)
		return error;
	pulse_open(&monitor->env.pulse, loop);
	if (!read_first(monitor, &list, faults))
		return -EINVAL;
	log_faults(faults, FAULTS_WARNINGS);
	if (!on_all_done) {
		struct faults unused = {.file = conf->state_file};

		state_file_read(conf->state_file, &list, &unused);
		log_faults(&unused, FAULTS_WARNINGS);
		publisher_open(&monitor->publisher, loop, conf, &monitor->list);
	}
	monitor->unfinished = list.check_count;
	use_list(monitor, &list);
	return 0;
}

void monitor_close(struct monitor *monitor)
{
	struct checklist none = {0};

	if (!monitor->text)
		return;
	if (!monitor->on_all_done && monitor->list.document.text) {
		state_file_save(monitor->conf->state_file, &monitor->list);
		publisher_close(&monitor->publisher);
	}
	ev_timer_stop(monitor->loop, &monitor->start);
	ev_timer_stop(monitor->loop, &monitor->save);
	ev_timer_stop(monitor->loop, &monitor->ready_timer);
	retire(monitor, &monitor->list);
	monitor->list = none;
	check_http_close(monitor->env.http);
	check_tunnel_close(monitor->env.tunnel);
	check_command_close(monitor->env.commands);
	pulse_close(&monitor->env.pulse);
	scheduler_free(&monitor->scheduler);
	scheduler_free(&monitor->command_scheduler);
	free(monitor->text);
}

void monitor_reload(struct monitor *monitor, bool by_operator)
{
	struct faults faults = {.file = monitor->conf->src};
	char loss[TABLE_GUARD_TEXT_MAX], *text;
	struct checklist list;
	size_t size;
	bool same;

	if (table_load_text(monitor->conf->src, &text, &size, &faults)) {
		refuse(monitor, &faults, "");
		faults_clear(&faults);
		return;
	}
	same = size == monitor->text_size && memcmp(text, monitor->text, size) == 0;
	free(monitor->text);
	monitor->text = text;
	monitor->text_size = size;
	if (same && !by_operator && !monitor->error[0]) {
		faults_clear(&faults);
		return;
	}
	if (by_operator) {
		monitor->error[0] = '\0'; /* log the same errors again */
		checklist_end_holds(&monitor->list);
		publisher_retry(&monitor->publisher);
	}
	if (read_list(monitor, monitor->text, size, &monitor->list.document.set, &list, &faults, loss)) {
		if (monitor->error[0])
			log_notice("src %s is valid again and in use", monitor->conf->src);
		monitor->error[0] = '\0';
		log_faults(&faults, FAULTS_WARNINGS);
		use_list(monitor, &list);
	} else {
		refuse(monitor, &faults, loss);
	}
	faults_clear(&faults);
}

/* Counts what lists have: tables, checks, files of trusted certificates. */
static void look_at_lists(const struct monitor *monitor, struct monitor_sums *sums)
{
	uint64_t now = clock_now_ms();

	for (uint32_t t = 0; t < monitor->list.document.set.count; t++) {
		sums->backends += monitor->publisher.verdicts[t].backends;
		sums->healthy += monitor->publisher.verdicts[t].healthy;
		sums->panics += monitor->publisher.verdicts[t].panic;
	}
	for (uint32_t i = 0; i < monitor->list.check_count; i++) {
		const struct check *check = monitor->list.checks[i];

		sums->flapping += check->damper.flaps && damper_held_ms(&check->damper, now);
		sums->frozen += check->probes && check->result == CHECK_NOT_RUN;
	}
	for (const struct http_trust *trust = check_http_trust_list(monitor->env.http); trust; trust = trust->next) {
		sums->trust_loads += trust->loads;
		sums->trust_refused += trust->refused;
		sums->trust_bad += trust->error[0] != '\0';
	}
}

void monitor_look(struct monitor *monitor)
{
	const struct reload_hook *hook = &monitor->publisher.reload_hook;
	struct monitor_sums sums = {
		.delayed = monitor->scheduler.delayed + monitor->command_scheduler.delayed,
		.src_bad = monitor->error[0],
		.write_failing = monitor->publisher.failures,
		.reload_failing = hook->failures,
		.director_stale = hook->director == RELOAD_HOOK_DIRECTOR_STALE,
		.director_unverified = hook->director == RELOAD_HOOK_DIRECTOR_UNKNOWN,
		.running = monitor->scheduler.running + monitor->command_scheduler.running,
		.stalled_s = (double)pulse_meter_stalled(&monitor->env.pulse.meter, clock_now_us()) / 1e6,
	};

	look_at_lists(monitor, &sums);
	monitor->sums = sums;
}

#define COUNTER OPENMETRICS_COUNTER
#define GAUGE   OPENMETRICS_GAUGE
#define AT(m)   FACTS_AT(struct monitor, m)

const struct fact monitor_list_facts[] = {
	{"checks_flapping", NULL, GAUGE, AT(sums.flapping),
		"checks that stay unhealthy for longer than hold_ms, because they flap"},
	{"checks_frozen", NULL, GAUGE, AT(sums.frozen),
		"checks whose last probe could not run on this host, so that their verdict is old"},
	{"trust_loads", NULL, COUNTER, AT(sums.trust_loads), "how often files of trusted certificates were loaded"},
	{"trust_refused", NULL, COUNTER, AT(sums.trust_refused), "how often files of trusted certificates were refused"},
	{"trust_bad", NULL, GAUGE, AT(sums.trust_bad), "number of files of trusted certificates that are refused"},
	{0},
};

const struct fact monitor_facts[] = {
	{"transitions", NULL, COUNTER, AT(counters.transitions), "verdicts that changed"},
	{"src_loads", "src.loads", COUNTER, AT(counters.loads), "how often src was loaded"},
	{"src_refused", "src.refused", COUNTER, AT(counters.failed_loads), "how often src was refused"},
	{"src_bad", NULL, GAUGE, AT(sums.src_bad), "1 while src is refused and an older one is in use"},
	{NULL, "src.signals", COUNTER, AT(counters.signals), "how often SIGHUP made it read src"},
	{"writes", "dst.writes", COUNTER, AT(publisher.writes), "how often dst was written"},
	{"write_failures", "dst.failed", COUNTER, AT(publisher.failed_writes), "how often writing dst failed"},
	{"write_failing", NULL, GAUGE, AT(sums.write_failing), "1 after a failed write of dst until one succeeds"},
	{"reloads", "reload.runs", COUNTER, AT(publisher.reload_hook.runs), "how often the reload hook ran"},
	{"reload_failures", "reload.failed", COUNTER, AT(publisher.reload_hook.failed_runs),
		"how often the reload hook failed"},
	{"reload_failing", NULL, GAUGE, AT(sums.reload_failing), "1 after a failed reload hook until one succeeds"},
	{"director_stale", NULL, GAUGE, AT(sums.director_stale),
		"1 if the director uses another table than the one that was built"},
	{"director_unverified", NULL, GAUGE, AT(sums.director_unverified),
		"1 if the director was notified, but does not tell which table it uses"},
	{"checks", NULL, GAUGE, AT(list.check_count), "number of different checks"},
	{"probes_running", "running", GAUGE, AT(sums.running), "probes in progress"},
	{"stalled_seconds", NULL, COUNTER, AT(sums.stalled_s), "time in which glb-healthcheck could not run"},
	{"delayed", NULL, COUNTER, AT(sums.delayed), "how often max_concurrent or max_commands delayed a probe"},
	{"tls_handshakes", NULL, COUNTER, AT(env.handshakes), "completed TLS handshakes with proxies"},
	{"tls_resumed", NULL, COUNTER, AT(env.resumed),
		"completed TLS handshakes that resumed a session, so that no certificate was seen"},
	{0},
};
