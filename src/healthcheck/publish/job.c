/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "healthcheck/damper.h"
#include "healthcheck/publish/job_child.h"

const char *job_state_name(enum job_state state)
{
	static const char *const names[] = {
		[JOB_NONE] = "none",
		[JOB_IDLE] = "idle",
		[JOB_RUNNING] = "running",
		[JOB_DONE] = "done",
		[JOB_FAILED] = "failed",
	};

	return names[state];
}

static const char *title(const struct job *job)
{
	return job->conf->reload_command ? "reload_command" : "reload";
}

#define LINES_MAX 100 /* in the log, of one run */

static void log_output(struct job *job)
{
	if (job->line_size == 0)
		return;
	if (job->lines < LINES_MAX)
		log_warning("%s: %.*s", title(job), (int)job->line_size, job->line);
	else if (job->lines == LINES_MAX)
		log_warning("%s: and more, which is not logged", title(job));
	job->lines += job->lines <= LINES_MAX;
	snprintf(job->last_line, sizeof(job->last_line), "%.*s", (int)job->line_size, job->line);
	job->line_size = 0;
}

static void close_output(struct job *job)
{
	if (job->output < 0)
		return;
	ev_io_stop(job->loop, &job->io);
	close(job->output);
	job->output = -1;
	log_output(job);
}

static void read_output(struct job *job)
{
	char bytes[4096];
	ssize_t size;

	for (int round = 0; job->output >= 0 && round < 16; round++) {
		size = read(job->output, bytes, sizeof(bytes));
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (size <= 0) {
			close_output(job);
			return;
		}
		for (ssize_t i = 0; i < size; i++) {
			if (bytes[i] == '\n' || job->line_size == sizeof(job->line))
				log_output(job);
			if (bytes[i] != '\n')
				job->line[job->line_size++] = (unsigned char)bytes[i] < ' ' ? ' ' : bytes[i];
		}
	}
}

static void on_output(struct ev_loop *loop, ev_io *io, int events)
{
	(void)loop;
	(void)events;
	read_output(io->data);
}

static void fail(struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct job *job, const char *format, ...)
{
	uint64_t wait = damper_backoff_ms(++job->failures);
	char what[64];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(job->error, sizeof(job->error), "%s%s%s", what, job->last_line[0] ? ": " : "", job->last_line);
	job->state = JOB_FAILED;
	job->failed_runs++;
	log_error("%s failed (%u in a row), again in %" PRIu64 " s: %s", title(job), job->failures, wait / 1000,
		job->error);
	ev_timer_set(&job->retry, (double)wait / 1e3, 0);
	ev_timer_start(job->loop, &job->retry);
}

static void succeed(struct job *job)
{
	job->state = JOB_DONE;
	if (job->failures)
		log_notice("%s works again, after %u failures", title(job), job->failures);
	else
		log_debug("%s done", title(job));
	job->failures = 0;
	job->error[0] = '\0';
}

static void run(struct job *job);

static void on_exit_of_child(struct ev_loop *loop, ev_child *child, int events)
{
	struct job *job = child->data;
	int status = child->rstatus;

	(void)events;
	ev_child_stop(loop, child);
	ev_timer_stop(loop, &job->timeout);
	job->pid = 0;
	/* What it wrote; a grandchild may keep the pipe open, which is not waited for. */
	read_output(job);
	close_output(job);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		succeed(job);
	else if (WIFEXITED(status))
		fail(job, "exit status %d", WEXITSTATUS(status));
	else
		fail(job, "killed by signal %d", WTERMSIG(status));
	if (job->again)
		run(job);
}

/* The child leads a process group, so that what it started goes with it. */
static void on_timeout(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct job *job = timer->data;

	(void)loop;
	(void)events;
	log_error("%s: no end after %u ms, killed", title(job), job->conf->reload_timeout_ms);
	kill(-job->pid, SIGKILL);
}

static void on_retry(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	run(timer->data);
}

static _Noreturn void be_child(const struct conf *conf, int output)
{
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0U, 0); /* sockets of libraries may survive exec */
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	job_child_run(conf);
}

static void run(struct job *job)
{
	int pipes[2];

	ev_timer_stop(job->loop, &job->retry);
	job->again = false;
	job->last_line[0] = '\0';
	job->lines = 0;
	job->runs++;
	if (pipe2(pipes, O_CLOEXEC) < 0) {
		fail(job, "no pipe: %s", strerror(errno));
		return;
	}
	job->pid = fork();
	if (job->pid == 0)
		be_child(job->conf, pipes[1]);
	close(pipes[1]);
	if (job->pid < 0) {
		close(pipes[0]);
		job->pid = 0;
		fail(job, "no process: %s", strerror(errno));
		return;
	}
	setpgid(job->pid, job->pid); /* whoever comes first */
	job->state = JOB_RUNNING;
	job->output = pipes[0];
	fcntl(job->output, F_SETFL, O_NONBLOCK);
	ev_io_set(&job->io, job->output, EV_READ);
	ev_io_start(job->loop, &job->io);
	ev_child_set(&job->child, job->pid, 0);
	ev_child_start(job->loop, &job->child);
	ev_timer_set(&job->timeout, job->conf->reload_timeout_ms / 1e3, 0);
	ev_timer_start(job->loop, &job->timeout);
}

void job_open(struct job *job, struct ev_loop *loop, const struct conf *conf)
{
	*job = (struct job){.loop = loop, .conf = conf, .output = -1};
	job->state = conf->reload_command || conf->reload_build ? JOB_IDLE : JOB_NONE;
	ev_io_init(&job->io, on_output, -1, EV_READ);
	ev_child_init(&job->child, on_exit_of_child, 0, 0);
	ev_timer_init(&job->timeout, on_timeout, 0, 0);
	ev_timer_init(&job->retry, on_retry, 0, 0);
	job->io.data = job->child.data = job->timeout.data = job->retry.data = job;
}

void job_request(struct job *job)
{
	if (job->state == JOB_RUNNING)
		job->again = true;
	else if (job->state != JOB_NONE)
		run(job);
}

void job_close(struct job *job)
{
	if (job->pid > 0)
		kill(-job->pid, SIGKILL);
	ev_child_stop(job->loop, &job->child);
	ev_timer_stop(job->loop, &job->timeout);
	ev_timer_stop(job->loop, &job->retry);
	close_output(job);
}
