/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/reload_hook.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>

#include "common/file/file.h"
#include "common/text.h"
#include "health/damper.h"
#include "healthcheck/publish/reload_hook_child.h"
#include "program/log.h"
#include "program/timer.h"

const char *reload_hook_state_name(enum reload_hook_state state)
{
	static const char *const names[] = {
		[RELOAD_HOOK_NONE] = "none",
		[RELOAD_HOOK_IDLE] = "idle",
		[RELOAD_HOOK_RUNNING] = "running",
		[RELOAD_HOOK_DONE] = "done",
		[RELOAD_HOOK_FAILED] = "failed",
	};

	return names[state];
}

const char *reload_hook_director_name(enum reload_hook_director director)
{
	static const char *const names[] = {
		[RELOAD_HOOK_DIRECTOR_NONE] = "none",
		[RELOAD_HOOK_DIRECTOR_UNKNOWN] = "unknown",
		[RELOAD_HOOK_DIRECTOR_CURRENT] = "current",
		[RELOAD_HOOK_DIRECTOR_STALE] = "stale",
	};

	return names[director];
}

const char *reload_hook_director_text(const char *name)
{
	return strcmp(name, "current") == 0   ? "the director uses the new table"
	       : strcmp(name, "stale") == 0   ? "the director uses another table"
	       : strcmp(name, "unknown") == 0 ? "the director does not tell which table it uses"
					      : "";
}

static const char *title(const struct reload_hook *hook)
{
	return hook->conf->reload_command ? "reload_command" : "reload";
}

#define LINES_MAX 100 /* logged lines per run */

static void log_output(struct reload_hook *hook)
{
	if (hook->line_size == 0)
		return;
	if (hook->lines < LINES_MAX)
		log_warning("%s: %.*s", title(hook), (int)hook->line_size, hook->line);
	else if (hook->lines == LINES_MAX)
		log_warning("%s: the rest of the output is not logged", title(hook));
	hook->lines += hook->lines <= LINES_MAX;
	snprintf(hook->last_line, sizeof(hook->last_line), "%.*s", (int)hook->line_size, hook->line);
	hook->line_size = 0;
}

static void close_output(struct reload_hook *hook)
{
	ev_io_stop(hook->loop, &hook->io);
	child_close(&hook->child);
	log_output(hook);
}

static bool take(void *data, const char *bytes, size_t size)
{
	struct reload_hook *hook = data;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n' || hook->line_size == sizeof(hook->line))
			log_output(hook);
		if (bytes[i] != '\n')
			hook->line[hook->line_size++] = (unsigned char)bytes[i] < ' ' ? ' ' : bytes[i];
	}
	return true;
}

static void read_output(struct reload_hook *hook)
{
	if (child_read(&hook->child, take, hook) == 0)
		close_output(hook);
}

static void on_output(struct ev_loop *, ev_io *io, int)
{
	read_output(io->data);
}

static void fail(struct reload_hook *hook, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct reload_hook *hook, const char *format, ...)
{
	uint64_t wait = damper_backoff_ms(++hook->failures);
	char cause[64];
	va_list args;

	va_start(args, format);
	vsnprintf(cause, sizeof(cause), format, args);
	va_end(args);
	snprintf(hook->error, sizeof(hook->error), "%s%s%s", cause, hook->last_line[0] ? ": " : "", hook->last_line);
	hook->state = RELOAD_HOOK_FAILED;
	hook->ended_s = (int64_t)time(NULL);
	hook->failed_runs++;
	log_error("%s failed (%u in a row), next attempt in %" PRIu64 " s: %s", title(hook), hook->failures,
		wait / 1000, hook->error);
	timer_restart(hook->loop, &hook->retry, (double)wait / 1e3);
}

bool reload_hook_is_undone(const struct reload_hook *hook)
{
	struct stat now;

	if (hook->state != RELOAD_HOOK_DONE || !hook->conf->reload_build)
		return false;
	file_look(hook->conf->reload_build, &now);
	return !file_is_unchanged(&now, &hook->built);
}

static void succeed(struct reload_hook *hook)
{
	if (hook->conf->reload_build)
		file_look(hook->conf->reload_build, &hook->built);
	hook->state = RELOAD_HOOK_DONE;
	hook->ended_s = (int64_t)time(NULL);
	if (hook->failures)
		log_notice(
			"%s works again, after %u failure%s", title(hook), hook->failures, text_plural(hook->failures));
	else
		log_debug("%s done", title(hook));
	hook->failures = 0;
	hook->error[0] = '\0';
}

static void reload_hook_run(struct reload_hook *hook);

/* Closes what belongs to the child's run. */
static void end_run(struct reload_hook *hook)
{
	ev_child_stop(hook->loop, &hook->exit);
	ev_timer_stop(hook->loop, &hook->timeout);
	hook->child.pid = 0;
	hook->killed = false;
	/* Read the rest of the output, but do not wait for end of file: a grandchild may keep the pipe open. */
	read_output(hook);
	close_output(hook);
}

static void succeed_with(struct reload_hook *hook, enum reload_hook_director director)
{
	if (director == RELOAD_HOOK_DIRECTOR_UNKNOWN && hook->director != director)
		log_warning("%s: %s was notified, but does not tell which table it uses", title(hook),
			hook->conf->reload_notify);
	hook->director = director;
	succeed(hook);
}

/* The exit codes of our own child say what the director told. Those of reload_command mean nothing but success or
 * failure. */
static void end_with_status(struct reload_hook *hook, int status)
{
	const struct conf *conf = hook->conf;
	bool notified = !conf->reload_command && conf->reload_notify;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	char how[CHILD_END_MAX];

	if (code == 0) {
		succeed_with(hook, notified ? RELOAD_HOOK_DIRECTOR_CURRENT : RELOAD_HOOK_DIRECTOR_NONE);
	} else if (notified && code == DELIVER_UNVERIFIED) {
		succeed_with(hook, RELOAD_HOOK_DIRECTOR_UNKNOWN);
	} else if (notified && code == DELIVER_STALE) {
		hook->director = RELOAD_HOOK_DIRECTOR_STALE;
		fail(hook, "the director does not use the new table");
	} else {
		child_describe_end(status, how);
		fail(hook, "%s", how);
	}
}

static void on_exit_of_child(struct ev_loop *, ev_child *child, int)
{
	struct reload_hook *hook = child->data;

	end_run(hook);
	end_with_status(hook, child->rstatus);
	if (hook->again)
		reload_hook_run(hook);
}

/* The orphan may have replaced the binary table by an older one, so the hook runs once more. */
static void on_exit_of_orphan(struct ev_loop *loop, ev_child *child, int)
{
	const struct reload_hook_orphan *orphan = child->data;

	log_notice("%s: process %ld, which was killed, has ended", title(orphan->hook), (long)child->pid);
	ev_child_stop(loop, child);
	reload_hook_request(orphan->hook);
}

static struct reload_hook_orphan *free_orphan(struct reload_hook *hook)
{
	for (int i = 0; i < RELOAD_HOOK_ORPHANS; i++)
		if (!ev_is_active(&hook->orphans[i].child))
			return &hook->orphans[i];
	return NULL;
}

/* Stops waiting for a child that does not end. */
static void abandon(struct reload_hook *hook)
{
	struct reload_hook_orphan *orphan = free_orphan(hook);
	pid_t pid = hook->child.pid;

	end_run(hook);
	ev_child_set(&orphan->child, pid, 0);
	ev_child_start(hook->loop, &orphan->child);
	fail(hook, "process %ld does not end although it was killed", (long)pid);
	if (hook->again && free_orphan(hook))
		reload_hook_run(hook);
}

/* Kills the child's process group, so that the processes that it started end, too. */
static void on_timeout(struct ev_loop *loop, ev_timer *timer, int)
{
	struct reload_hook *hook = timer->data;

	if (hook->killed) {
		abandon(hook);
		return;
	}
	log_error("%s: still running after %u ms, killed", title(hook), hook->conf->reload_timeout_ms);
	kill(-hook->child.pid, SIGKILL);
	hook->killed = true;
	timer_restart(loop, timer, hook->grace_ms / 1e3);
}

static void on_retry(struct ev_loop *, ev_timer *timer, int)
{
	reload_hook_run(timer->data);
}

static void reload_hook_run(struct reload_hook *hook)
{
	const struct child_plan plan = {.run = reload_hook_child_run, .data = hook->conf};
	int error;

	ev_timer_stop(hook->loop, &hook->retry);
	hook->again = false;
	hook->last_line[0] = '\0';
	hook->lines = 0;
	hook->runs++;
	if (!free_orphan(hook)) {
		fail(hook, "%d earlier processes do not end although they were killed", RELOAD_HOOK_ORPHANS);
		return;
	}
	error = child_start(&hook->child, &plan);
	if (error) {
		fail(hook, "cannot start a process: %s", strerror(-error));
		return;
	}
	hook->state = RELOAD_HOOK_RUNNING;
	ev_io_set(&hook->io, hook->child.output, EV_READ);
	ev_io_start(hook->loop, &hook->io);
	ev_child_set(&hook->exit, hook->child.pid, 0);
	ev_child_start(hook->loop, &hook->exit);
	timer_restart(hook->loop, &hook->timeout, hook->conf->reload_timeout_ms / 1e3);
}

#define GRACE_MS 5000 /* for a killed child that ends a system call */

void reload_hook_open(struct reload_hook *hook, struct ev_loop *loop, const struct conf *conf)
{
	*hook = (struct reload_hook){
		.loop = loop, .conf = conf, .child = {.output = -1, .failure = -1}, .grace_ms = GRACE_MS};
	hook->state = conf->reload_command || conf->reload_build ? RELOAD_HOOK_IDLE : RELOAD_HOOK_NONE;
	ev_io_init(&hook->io, on_output, -1, EV_READ);
	ev_child_init(&hook->exit, on_exit_of_child, 0, 0);
	ev_timer_init(&hook->timeout, on_timeout, 0, 0);
	ev_timer_init(&hook->retry, on_retry, 0, 0);
	for (int i = 0; i < RELOAD_HOOK_ORPHANS; i++) {
		ev_child_init(&hook->orphans[i].child, on_exit_of_orphan, 0, 0);
		hook->orphans[i].child.data = &hook->orphans[i];
		hook->orphans[i].hook = hook;
	}
	hook->io.data = hook->exit.data = hook->timeout.data = hook->retry.data = hook;
}

void reload_hook_request(struct reload_hook *hook)
{
	if (hook->state == RELOAD_HOOK_RUNNING)
		hook->again = true;
	else if (hook->state != RELOAD_HOOK_NONE)
		reload_hook_run(hook);
}

void reload_hook_close(struct reload_hook *hook)
{
	int status;

	if (!hook->loop)
		return;
	if (hook->child.pid > 0) /* one that was just forked still has our sockets, which the next daemon needs */
		child_wait(&hook->child, 0, NULL, NULL, &status);
	for (int i = 0; i < RELOAD_HOOK_ORPHANS; i++)
		ev_child_stop(hook->loop, &hook->orphans[i].child);
	ev_child_stop(hook->loop, &hook->exit);
	ev_timer_stop(hook->loop, &hook->timeout);
	ev_timer_stop(hook->loop, &hook->retry);
	close_output(hook);
}
