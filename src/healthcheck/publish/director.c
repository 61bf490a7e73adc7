/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/director.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program/telemetry_socket.h"

#define DIGEST      "digest "
#define PATIENCE_MS 2000

/* Reads to the end of the output, and keeps its start. */
static void read_all(int fd, char *output, size_t size)
{
	size_t used = 0;
	char rest[512];
	ssize_t got;

	do {
		bool full = used + 1 >= size;

		got = read(fd, full ? rest : output + used, full ? sizeof(rest) : size - 1 - used);
		used += got > 0 && !full ? (size_t)got : 0;
	} while (got > 0 || (got < 0 && errno == EINTR));
	output[used] = '\0';
}

int director_run(const char *const argv[], char *output, size_t size)
{
	int pipes[2] = {-1, -1}, status;
	pid_t pid;

	if (output && pipe(pipes) < 0)
		return 127;
	pid = fork();
	if (pid == 0) {
		dup2(output ? pipes[1] : STDERR_FILENO, STDOUT_FILENO);
		execvp(argv[0], (char *const *)argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (output) {
		close(pipes[1]);
		read_all(pipes[0], output, size);
		close(pipes[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 127;
	return WEXITSTATUS(status);
}

bool director_of_unit(const char *unit, struct director_table *table)
{
	const char *const argv[] = {"systemctl", "show", "--property=StatusText", "--value", unit, NULL};
	char status[2048];
	const char *digest;

	*table = (struct director_table){0};
	if (director_run(argv, status, sizeof(status)) != 0)
		return false;
	digest = strstr(status, DIGEST);
	if (!digest || strspn(digest + strlen(DIGEST), "0123456789abcdef") != DIRECTOR_DIGEST_SIZE - 1)
		return false;
	memcpy(table->digest, digest + strlen(DIGEST), DIRECTOR_DIGEST_SIZE - 1);
	return true;
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
