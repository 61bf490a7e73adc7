/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "deliver/deliver.h"

/* Returns the process id in the file; 0 after a message. */
static pid_t read_pid(const char *pid_file)
{
	FILE *file = fopen(pid_file, "re");
	long pid = 0;
	char end = '\n';

	if (!file || fscanf(file, "%ld%c", &pid, &end) < 1 || end != '\n' || pid <= 1 || pid > INT_MAX) {
		fprintf(stderr, "%s: %s\n", pid_file, file ? "does not contain a process id" : strerror(errno));
		pid = 0;
	}
	if (file)
		fclose(file);
	return (pid_t)pid;
}

static void pause_ms(unsigned ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

/* Says which table the director uses, and what may be wrong. */
static int complain(const struct deliver *plan, const char *digest, const struct director_table *table)
{
	fprintf(stderr, "the director (%s) uses %s with digest %s, but %s was built with digest %s: %s%s\n",
		plan->notify, table->path[0] ? table->path : "a table", table->digest, plan->binary, digest,
		table->error[0] ? table->error : "start the director with --forwarding-table ",
		table->error[0] ? "" : plan->binary);
	return DELIVER_STALE;
}

#define STATUS_MS 5000u /* the service manager may show the director's new status a moment later */
#define POLL_MS   100u

/* systemctl returns when the director uses the new table, and fails if the director refused the table. */
static int reload_unit(const struct deliver *plan, const char *digest)
{
	const char *const argv[] = {"systemctl", "reload", plan->notify, NULL};
	int code = director_run(argv);
	struct director_table table;

	for (unsigned waited = 0; !code; waited += POLL_MS) {
		if (!director_of_unit(plan->notify, &table))
			return DELIVER_UNVERIFIED;
		if (strcmp(table.digest, digest) == 0)
			return EXIT_SUCCESS;
		if (waited >= STATUS_MS)
			return complain(plan, digest, &table);
		pause_ms(POLL_MS);
	}
	return code == DELIVER_STALE || code == DELIVER_UNVERIFIED ? EXIT_FAILURE : code;
}

/* False while the signal would end the process, as long as the libraries of a director that was just executed are not
 * loaded. */
static bool takes_hangup(pid_t pid)
{
	char path[32], line[256], name[4];
	uint64_t signals;
	FILE *file;
	bool takes;

	snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	file = fopen(path, "re");
	takes = !file; /* kill() says why */
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Sig%3[BlkIgnCt]: %" SCNx64, name, &signals) == 2) /* blocked, ignored or caught */
			takes |= signals >> (SIGHUP - 1) & 1;
	if (file)
		fclose(file);
	return takes;
}

/* Waits until the director has loaded or refused a table after SIGHUP. */
static int reload_process(const struct deliver *plan, const char *digest)
{
	pid_t pid = read_pid(plan->notify);
	uint64_t end = clock_now_ms() + plan->timeout_ms * UINT64_C(3) / 4;
	struct director_table before, now;
	bool told = pid && director_of_process(pid, &before);

	if (!pid)
		return EXIT_FAILURE;
	while (!takes_hangup(pid) && clock_now_ms() < end)
		pause_ms(POLL_MS);
	if (!takes_hangup(pid)) {
		fprintf(stderr, "%s: process %ld gets no SIGHUP, because it would end by it: is it a director?\n",
			plan->notify, (long)pid);
		return EXIT_FAILURE;
	}
	if (kill(pid, SIGHUP) < 0) {
		fprintf(stderr, "%s: SIGHUP to process %ld: %s\n", plan->notify, (long)pid, strerror(errno));
		return EXIT_FAILURE;
	}
	while (told && (told = director_of_process(pid, &now))) {
		if (strcmp(now.digest, digest) == 0)
			return EXIT_SUCCESS;
		if (now.generation != before.generation || now.failures != before.failures || clock_now_ms() >= end)
			return complain(plan, digest, &now);
		pause_ms(POLL_MS);
	}
	return DELIVER_UNVERIFIED;
}

bool deliver_ask(const char *notify, struct director_table *table)
{
	pid_t pid;

	if (notify[0] != '/')
		return director_of_unit(notify, table);
	pid = read_pid(notify);
	return pid && director_of_process(pid, table);
}

int deliver_notify(const struct deliver *plan, const char *digest)
{
	return plan->notify[0] == '/' ? reload_process(plan, digest) : reload_unit(plan, digest);
}
