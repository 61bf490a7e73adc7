/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/director.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program/output_of.h"
#include "program/telemetry_socket.h"

#define DIGEST      "digest "
#define PATIENCE_MS 2000

int director_run(const char *const argv[])
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(argv[0], (char *const *)argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 127;
	return WEXITSTATUS(status);
}

bool director_of_unit(const char *unit, struct director_table *table)
{
	const char *const argv[] = {"systemctl", "show", "--property=StatusText", "--value", unit, NULL};
	const char *digest;
	char *status;
	size_t size;
	int error = output_of_both((char *const *)argv, &status, &size);
	bool told;

	*table = (struct director_table){0};
	if (error) {
		fprintf(stderr, "systemctl show %s: %s\n", unit, status ? status : output_of_reason(error));
		free(status);
		return false;
	}
	digest = strstr(status, DIGEST);
	told = digest && strspn(digest + strlen(DIGEST), "0123456789abcdef") == DIRECTOR_DIGEST_SIZE - 1;
	if (told)
		memcpy(table->digest, digest + strlen(DIGEST), DIRECTOR_DIGEST_SIZE - 1);
	free(status);
	return told;
}

static void copy_text(const json_t *object, const char *key, char *text, size_t size)
{
	const char *value = json_string_value(json_object_get(object, key));

	snprintf(text, size, "%s", value ? value : "");
}

bool director_of_process(pid_t pid, struct director_table *table)
{
	struct telemetry_socket socket;
	struct faults faults = {0}; /* the caller says that the director does not tell */
	json_t *stats = NULL;

	*table = (struct director_table){0};
	if (telemetry_socket_open_process(&socket, pid, PATIENCE_MS))
		telemetry_socket_ask(&socket, "/glb/stats", &stats, &faults);
	telemetry_socket_close(&socket);
	faults_clear(&faults);
	table->generation = (uint64_t)json_integer_value(json_object_get(stats, "generation"));
	table->failures = (uint64_t)json_integer_value(json_object_get(stats, "reload_failures"));
	copy_text(stats, "digest", table->digest, sizeof(table->digest));
	copy_text(stats, "table_path", table->path, sizeof(table->path));
	copy_text(stats, "last_error", table->error, sizeof(table->error));
	json_decref(stats);
	return table->digest[0];
}
