/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/publish.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/file/file.h"
#include "common/text.h"
#include "healthcheck/publish/state_file.h"
#include "program/log.h"
#include "program/timer.h"
#include "table/file/table_load.h"

static void schedule(struct publisher *publisher)
{
	uint64_t now = clock_now_ms();
	uint64_t at =
		publisher->urgent ? now : now + damper_batch_wait(&publisher->batch, publisher->list->wavering, now);

	if (publisher->list->unknown && publisher->first_results_ms > at)
		at = publisher->first_results_ms;
	if (publisher->retry_ms > at)
		at = publisher->retry_ms;
	timer_restart(publisher->loop, &publisher->timer, (double)(at - now) / 1e3);
}

static void log_panics(const struct publisher *publisher, const struct verdicts *verdicts)
{
	const struct table_set *set = &publisher->list->document.set;

	for (uint32_t t = 0; t < set->count; t++) {
		const struct verdicts *now = &verdicts[t];
		char label[16];

		if (now->panic && !publisher->verdicts[t].panic)
			log_error("table %s: panic: less than %u %% of its backends are healthy (%" PRIu32
				  " of %" PRIu32 "); it keeps %" PRIu32 " unhealthy backend%s in service",
				table_label(set, t, label), publisher->conf->panic_threshold, now->healthy,
				now->backends, now->kept, text_plural(now->kept));
		else if (!now->panic && publisher->verdicts[t].panic)
			log_notice("table %s: panic is over", table_label(set, t, label));
	}
}

static void log_written(const struct publisher *publisher)
{
	uint32_t unhealthy = 0, kept = 0;
	char panic[64] = "";

	for (uint32_t t = 0; t < publisher->list->document.set.count; t++) {
		unhealthy += publisher->verdicts[t].backends - publisher->verdicts[t].healthy;
		kept += publisher->verdicts[t].kept;
	}
	if (kept)
		snprintf(panic, sizeof(panic), ", panic keeps %" PRIu32 " of them in service", kept);
	log_info("table %s written, %" PRIu32 " unhealthy backend%s%s", publisher->conf->dst, unhealthy,
		text_plural(unhealthy), panic);
}

static void fail(struct publisher *publisher, struct faults *faults)
{
	const char *error = faults->errors ? faults_first_error(faults) : "out of memory";
	uint64_t wait = damper_backoff_ms(++publisher->failures);

	publisher->failed_writes++;
	publisher->retry_ms = clock_now_ms() + wait;
	snprintf(publisher->error, sizeof(publisher->error), "%s", error);
	log_error("table not written (%u in a row), next attempt in %" PRIu64 " s: %s", publisher->failures,
		wait / 1000, error);
	schedule(publisher);
}

static void succeed(struct publisher *publisher, char *text, size_t size, const struct history *history)
{
	history_free(&publisher->history);
	publisher->history = *history;
	free(publisher->written);
	publisher->written = text;
	publisher->written_size = size;
	publisher->failures = 0;
	publisher->error[0] = '\0';
	publisher->retry_ms = 0;
	publisher->urgent = false;
}

static void write_table(struct publisher *publisher)
{
	struct faults faults = {.file = publisher->conf->dst};
	struct verdicts verdicts[TABLE_MAX_TABLES] = {{0}};
	struct checklist *list = publisher->list;
	struct history history = {0};
	bool urgent = publisher->urgent;
	char *text = NULL;
	size_t size = 0;

	verdicts_apply(list, publisher->conf->panic_threshold, verdicts);
	text = history_add(&publisher->history, &list->document, (int64_t)time(NULL), publisher->conf->keep_previous_s,
		table_document_text(&list->document, &size), &size, &history);
	log_panics(publisher, verdicts);
	memcpy(publisher->verdicts, verdicts, sizeof(verdicts));
	if (text && publisher->written && size == publisher->written_size && memcmp(text, publisher->written, size) == 0) {
		succeed(publisher, text, size, &history);
		publisher->batch.open = false;
		if (urgent) {
			/* The binary table may have been damaged since the hook ran last. */
			log_info("table %s is up to date, not written again", publisher->conf->dst);
			reload_hook_request(&publisher->reload_hook);
		}
		return;
	}
	/*
	 * The state comes first. If dst were newer than the state, a restart would change its verdicts back and forth.
	 */
	if (text)
		state_file_save(publisher->conf->state_file, list);
	if (!text || file_replace(publisher->conf->dst, publisher->conf->src, text, size, &faults)) {
		free(text);
		history_free(&history);
		fail(publisher, &faults);
		faults_clear(&faults);
		return;
	}
	faults_clear(&faults);
	publisher->seen = (struct stat){.st_size = -1}; /* the next look reads dst, which others may write, too */
	damper_batch_written(&publisher->batch, clock_now_ms());
	publisher->writes++;
	publisher->written_s = (int64_t)time(NULL);
	succeed(publisher, text, size, &history);
	log_written(publisher);
	reload_hook_request(&publisher->reload_hook);
}

static void on_timer(struct ev_loop *, ev_timer *timer, int)
{
	write_table(timer->data);
}

/* Returns true if a table has holders, so that it matters who was a first hop. */
static bool has_holders(const struct table_set *set)
{
	bool any = false;

	for (uint32_t t = 0; t < set->count; t++)
		any |= table_is_matched(&set->tables[t]);
	return any;
}

/* Somebody else may have changed or deleted dst since it was written. Returns true if its content is another
 * one now. */
static bool read_dst(struct publisher *publisher)
{
	struct faults ignored = {0};
	char *old = publisher->written;
	size_t old_size = publisher->written_size;
	bool changed;

	file_look(publisher->conf->dst, &publisher->seen);
	table_load_text(publisher->conf->dst, &publisher->written, &publisher->written_size, &ignored);
	faults_clear(&ignored);
	changed = !publisher->written || !old || publisher->written_size != old_size ||
		  memcmp(publisher->written, old, old_size) != 0;
	free(old);
	if (changed && publisher->written && has_holders(&publisher->list->document.set))
		history_read(&publisher->history, publisher->written, publisher->written_size);
	return changed;
}

static void log_undone(const char *path)
{
	log_warning("table %s was changed or removed by another program, so it is made again", path);
}

#define LOOK_S 5.0

/*
 * Looks at dst and the binary table, also without inotify. A write that is due or has failed, and a hook that runs or
 * has failed, make both files anyway. If another program replaces them all the time, the looks become rare.
 */
static void on_look(struct ev_loop *loop, ev_timer *timer, int)
{
	struct publisher *publisher = timer->data;
	const struct conf *conf = publisher->conf;
	bool binary = reload_hook_is_undone(&publisher->reload_hook), json = false;
	struct stat now;
	double wait;

	file_look(publisher->conf->dst, &now);
	if (!ev_is_active(&publisher->timer) && !file_is_unchanged(&now, &publisher->seen))
		json = read_dst(publisher);
	if (json)
		log_undone(conf->dst);
	if (binary)
		log_undone(conf->reload_build);
	if (json)
		schedule(publisher); /* the hook follows the write */
	else if (binary)
		reload_hook_request(&publisher->reload_hook);
	publisher->repairs = json || binary ? publisher->repairs + 1 : 0;
	wait = (double)damper_backoff_ms(publisher->repairs) / 1e3;
	timer_restart(loop, timer, wait > publisher->look_s ? wait : publisher->look_s);
}

void publisher_open(struct publisher *publisher, struct ev_loop *loop, const struct conf *conf, struct checklist *list)
{
	*publisher = (struct publisher){.loop = loop, .conf = conf, .list = list};
	ev_timer_init(&publisher->timer, on_timer, 0, 0);
	publisher->look_s = LOOK_S;
	ev_timer_init(&publisher->look, on_look, LOOK_S, 0);
	publisher->timer.data = publisher->look.data = publisher;
	ev_timer_start(loop, &publisher->look);
	reload_hook_open(&publisher->reload_hook, loop, conf);
}

void publisher_close(struct publisher *publisher)
{
	if (!publisher->loop)
		return;
	ev_timer_stop(publisher->loop, &publisher->timer);
	ev_timer_stop(publisher->loop, &publisher->look);
	reload_hook_close(&publisher->reload_hook);
	free(publisher->written);
	history_free(&publisher->history);
}

void publisher_request(struct publisher *publisher, const struct check_timing *timing, bool failed)
{
	damper_batch_add(&publisher->batch, timing, failed, clock_now_ms());
	schedule(publisher);
}

void publisher_settled(struct publisher *publisher)
{
	if (publisher->batch.open)
		schedule(publisher);
}

void publisher_retry(struct publisher *publisher)
{
	publisher->retry_ms = 0;
	if (publisher->failures)
		schedule(publisher);
}

void publisher_new_list(struct publisher *publisher, uint64_t wait_ms)
{
	read_dst(publisher); /* before the wait begins: a large one takes long */
	if (!publisher->urgent)
		publisher->first_results_ms = clock_now_ms() + wait_ms;
	publisher->urgent = true;
	schedule(publisher);
}
