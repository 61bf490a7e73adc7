/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "program/log.h"

#define OUTPUT_MAX ((size_t)256 << 10) /* bytes */
#define GRACE_MS   5000u /* for the end of a killed process, which may hang in the kernel */

void job_finish(json_t *result)
{
	char *text = result ? json_dumps(result, JSON_COMPACT) : NULL;

	if (text)
		printf("\n%s\n", text);
	fflush(stdout);
	_exit(text ? 0 : 126);
}

int job_start(struct job *job, void (*run)(const void *data), const void *data, unsigned timeout_ms)
{
	const struct child_plan plan = {.run = run, .data = data};
	int error = child_start(&job->child, &plan);

	if (error) {
		job->child.pid = 0;
		return error;
	}
	job->pidfd = (int)syscall(SYS_pidfd_open, job->child.pid, 0);
	job->end_ms = clock_now_ms() + timeout_ms;
	job->killed = false;
	job->note[0] = '\0';
	job->size = 0;
	return 0;
}

static bool take(void *data, const char *bytes, size_t size)
{
	struct job *job = data;
	char *larger = job->size + size < OUTPUT_MAX ? realloc(job->output, job->size + size + 1) : NULL;

	if (!larger)
		return false;
	job->output = larger;
	memcpy(larger + job->size, bytes, size);
	job->size += size;
	larger[job->size] = '\0';
	return true;
}

#define LINES_MAX 20u /* logged lines of one child */

/* Logs all lines but the result, which is the last line. */
static json_t *parse(struct job *job, bool quiet)
{
	json_t *result = NULL;
	unsigned lines = 0;
	char *rest;

	for (char *line = job->size ? strtok_r(job->output, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest)) {
		json_decref(result);
		result = line[0] == '{' ? json_loads(line, 0, NULL) : NULL;
		if (result)
			continue;
		text_mend(line);
		snprintf(job->note, sizeof(job->note), "%s", line);
		text_mend(job->note);
		if (!quiet && lines++ < LINES_MAX)
			log_warning("%s", line);
	}
	return result;
}

static json_t *end(struct job *job, int status, bool quiet)
{
	json_t *result;
	char how[CHILD_END_MAX];

	child_read(&job->child, take, job);
	child_close(&job->child);
	close(job->pidfd);
	job->child.pid = 0;
	result = parse(job, quiet);
	free(job->output);
	job->output = NULL;
	child_describe_end(status, how);
	if (job->killed)
		snprintf(job->note, sizeof(job->note), "the child process was killed, because it took too long");
	else if (!result)
		snprintf(job->note, sizeof(job->note), "the child process ended without a result: %s", how);
	return result;
}

bool job_step(struct job *job, bool quiet, json_t **result)
{
	uint64_t now = clock_now_ms();
	int status = 0;

	*result = NULL;
	if (!job_runs(job))
		return false;
	if (child_read(&job->child, take, job) == -EFBIG || (!job->killed && now >= job->end_ms)) {
		kill(-job->child.pid, SIGKILL);
		job->killed = true;
		job->end_ms = now + GRACE_MS;
	}
	if (waitpid(job->child.pid, &status, WNOHANG) != job->child.pid && !(job->killed && now >= job->end_ms))
		return false;
	kill(-job->child.pid, SIGKILL); /* what is left of its group */
	*result = end(job, status, quiet);
	return true;
}

void job_stop(struct job *job, unsigned wait_ms)
{
	struct pollfd fd = {.fd = job->pidfd, .events = POLLIN};
	json_t *result;

	if (!job_runs(job))
		return;
	poll(&fd, 1, (int)wait_ms);
	if (!job_step(job, false, &result)) {
		kill(-job->child.pid, SIGKILL);
		poll(&fd, 1, 1000);
		job->killed = true;
		job->end_ms = 0;
		job_step(job, false, &result);
	}
	json_decref(result);
}
