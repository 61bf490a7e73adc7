/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/reload_hook_child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "table/file/table_file.h"
#include "table/file/table_load.h"

/*
 * Builds the binary table from dst. It parses the file again instead of using the set that the daemon has in memory:
 * the director must get what dst holds, and the daemon's set may be ahead of it. A reload hook that failed runs again
 * later, when verdicts or src have changed but dst has not been written yet. Parsing also proves that what is on the
 * disk is a good table.
 */
static int build(const struct conf *conf)
{
	struct faults faults = {.file = conf->dst};
	struct table_set set;
	uint8_t *bytes = NULL;
	size_t size;
	uint32_t replaced = table_load_version(conf->reload_build);
	int error = table_load(conf->dst, &set, NULL, &faults);

	if (!error)
		error = table_file_encode(&set, TABLE_FILE_V3, &bytes, &size, &faults);
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

static int send_sighup(const char *pid_file)
{
	FILE *file = fopen(pid_file, "re");
	long pid = 0;
	char end = '\n';

	if (!file || fscanf(file, "%ld%c", &pid, &end) < 1 || end != '\n' || pid <= 1 || pid > INT_MAX) {
		fprintf(stderr, "%s: %s\n", pid_file, file ? "does not contain a process id" : strerror(errno));
		return -EINVAL;
	}
	fclose(file);
	if (kill((pid_t)pid, SIGHUP) == 0)
		return 0;
	fprintf(stderr, "%s: SIGHUP to process %ld: %s\n", pid_file, pid, strerror(errno));
	return -errno;
}

_Noreturn void reload_hook_child_run(const struct conf *conf)
{
	if (conf->reload_command) {
		execl("/bin/sh", "sh", "-c", conf->reload_command, (char *)NULL);
		fprintf(stderr, "/bin/sh: %s\n", strerror(errno));
		_exit(127);
	}
	if (build(conf))
		_exit(EXIT_FAILURE);
	if (!conf->reload_notify)
		_exit(EXIT_SUCCESS);
	if (conf->reload_notify[0] == '/')
		_exit(send_sighup(conf->reload_notify) ? EXIT_FAILURE : EXIT_SUCCESS);
	/* systemctl returns when the director uses the new table, and fails if the director refused the table. */
	execlp("systemctl", "systemctl", "reload", conf->reload_notify, (char *)NULL);
	fprintf(stderr, "systemctl: %s\n", strerror(errno));
	_exit(127);
}
