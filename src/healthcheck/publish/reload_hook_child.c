/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/reload_hook_child.h"

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
#include "common/file/file.h"
#include "healthcheck/publish/director.h"
#include "table/file/table_file.h"
#include "table/file/table_load.h"

/*
 * Builds the binary table from dst. It parses the file again instead of using the set that the daemon has in memory:
 * the director must get what dst holds, and the daemon's set may be ahead of it. A reload hook that failed runs again
 * later, when verdicts or src have changed but dst has not been written yet. Parsing also proves that what is on the
 * disk is a good table.
 */
static int build(const struct conf *conf, char digest[DIRECTOR_DIGEST_SIZE])
{
	struct faults faults = {.file = conf->dst};
	struct table_set set;
	uint8_t *bytes = NULL;
	size_t size;
	uint32_t replaced = table_load_version(conf->reload_build);
	int error = table_load(conf->dst, &set, NULL, &faults);

	if (!error)
		error = table_file_encode(&set, TABLE_FILE_V3, &bytes, &size, &faults);
	snprintf(digest, DIRECTOR_DIGEST_SIZE, "%016" PRIx64, error ? 0 : table_set_digest(&set));
	faults.file = conf->reload_build;
	if (!error)
		error = file_replace(conf->reload_build, conf->src, bytes, size, &faults);
	if (!error && replaced == 2)
		fprintf(stderr,
			"%s: was version 2 and is now version 3, which GLB's directors cannot read; for them use reload_command with glb-director-cli build-config --format 2\n",
			conf->reload_build);
	if (faults.errors)
		fprintf(stderr, "%s\n", faults_first_error(&faults));
	return error;
}

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
static int complain(const struct conf *conf, const char *digest, const struct director_table *table)
{
	fprintf(stderr, "the director (%s) uses %s with digest %s, but %s was built with digest %s: %s%s\n",
		conf->reload_notify, table->path[0] ? table->path : "a table", table->digest, conf->reload_build,
		digest, table->error[0] ? table->error : "start the director with --forwarding-table ",
		table->error[0] ? "" : conf->reload_build);
	return RELOAD_HOOK_CHILD_STALE;
}

#define STATUS_MS 5000u /* the service manager may show the director's new status a moment later */
#define POLL_MS   100u

/* systemctl returns when the director uses the new table, and fails if the director refused the table. */
static int reload_unit(const struct conf *conf, const char *digest)
{
	const char *const argv[] = {"systemctl", "reload", conf->reload_notify, NULL};
	int code = director_run(argv);
	struct director_table table;

	for (unsigned waited = 0; !code; waited += POLL_MS) {
		if (!director_of_unit(conf->reload_notify, &table))
			return RELOAD_HOOK_CHILD_UNVERIFIED;
		if (strcmp(table.digest, digest) == 0)
			return EXIT_SUCCESS;
		if (waited >= STATUS_MS)
			return complain(conf, digest, &table);
		pause_ms(POLL_MS);
	}
	return code == RELOAD_HOOK_CHILD_STALE || code == RELOAD_HOOK_CHILD_UNVERIFIED ? EXIT_FAILURE : code;
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
static int reload_process(const struct conf *conf, const char *digest)
{
	pid_t pid = read_pid(conf->reload_notify);
	uint64_t end = clock_now_ms() + conf->reload_timeout_ms * UINT64_C(3) / 4;
	struct director_table before, now;
	bool told = pid && director_of_process(pid, &before);

	if (!pid)
		return EXIT_FAILURE;
	while (!takes_hangup(pid) && clock_now_ms() < end)
		pause_ms(POLL_MS);
	if (!takes_hangup(pid)) {
		fprintf(stderr, "%s: process %ld gets no SIGHUP, because it would end by it: is it a director?\n",
			conf->reload_notify, (long)pid);
		return EXIT_FAILURE;
	}
	if (kill(pid, SIGHUP) < 0) {
		fprintf(stderr, "%s: SIGHUP to process %ld: %s\n", conf->reload_notify, (long)pid, strerror(errno));
		return EXIT_FAILURE;
	}
	while (told && (told = director_of_process(pid, &now))) {
		if (strcmp(now.digest, digest) == 0)
			return EXIT_SUCCESS;
		if (now.generation != before.generation || now.failures != before.failures || clock_now_ms() >= end)
			return complain(conf, digest, &now);
		pause_ms(POLL_MS);
	}
	return RELOAD_HOOK_CHILD_UNVERIFIED;
}

void reload_hook_child_run(const void *data)
{
	const struct conf *conf = data;
	char digest[DIRECTOR_DIGEST_SIZE];

	if (conf->reload_command) {
		execl("/bin/sh", "sh", "-c", conf->reload_command, (char *)NULL);
		fprintf(stderr, "/bin/sh: %s\n", strerror(errno));
		_exit(127);
	}
	if (build(conf, digest))
		_exit(EXIT_FAILURE);
	if (!conf->reload_notify)
		_exit(EXIT_SUCCESS);
	_exit(conf->reload_notify[0] == '/' ? reload_process(conf, digest) : reload_unit(conf, digest));
}
