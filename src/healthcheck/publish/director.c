/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/director.h"

#include <errno.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIGEST    "digest "
#define REPLY_MAX 65536 /* bytes; DPDK's replies have at most 16 KiB */
#define PATIENCE  ((struct timeval){.tv_sec = 2})

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

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = PATIENCE;
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
		connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static json_t *receive(int fd)
{
	char *text = malloc(REPLY_MAX);
	ssize_t size = text ? recv(fd, text, REPLY_MAX, 0) : -1;
	json_t *json = size > 0 ? json_loadb(text, (size_t)size, 0, NULL) : NULL;

	free(text);
	return json;
}

/* Copies a string that the director may have split into KEY, KEY_2, KEY_3 and so on. */
static void copy_text(const json_t *object, const char *key, char *text, size_t size)
{
	const char *part = json_string_value(json_object_get(object, key));
	size_t used = 0;
	char name[32];

	for (int i = 2; part && used < size; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s", part);
		snprintf(name, sizeof(name), "%s_%d", key, i);
		part = json_string_value(json_object_get(object, name));
	}
}

static bool ask(int fd, struct director_table *table)
{
	static const char command[] = "/glb/stats";
	json_t *reply = send(fd, command, strlen(command), MSG_NOSIGNAL) < 0 ? NULL : receive(fd);
	const json_t *stats = json_object_get(reply, command);

	*table = (struct director_table){
		.generation = (uint64_t)json_integer_value(json_object_get(stats, "generation")),
		.failures = (uint64_t)json_integer_value(json_object_get(stats, "reload_failures")),
	};
	copy_text(stats, "digest", table->digest, sizeof(table->digest));
	copy_text(stats, "table_path", table->path, sizeof(table->path));
	copy_text(stats, "last_error", table->error, sizeof(table->error));
	json_decref(reply);
	return table->digest[0];
}

/* Asks the program that listens at the path, if it is this process. */
static bool ask_at(const char *path, pid_t pid, struct director_table *table)
{
	int fd = connect_to(path);
	json_t *greeting = fd < 0 ? NULL : receive(fd);
	bool told = json_integer_value(json_object_get(greeting, "pid")) == pid && ask(fd, table);

	json_decref(greeting);
	if (fd >= 0)
		close(fd);
	return told;
}

/* EAL's folder for sockets depends on the user; eal_create_runtime_dir() chooses it. */
static const char *runtime_folder(void)
{
	const char *folder = getenv("RUNTIME_DIRECTORY");

	if (!folder)
		folder = getuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
	return folder ? folder : "/tmp";
}

bool director_of_process(pid_t pid, struct director_table *table)
{
	char pattern[256];
	bool told = false;
	glob_t found;

	*table = (struct director_table){0};
	snprintf(pattern, sizeof(pattern), "%s/dpdk/*/dpdk_telemetry.v2", runtime_folder());
	if (glob(pattern, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc && !told; i++)
		told = ask_at(found.gl_pathv[i], pid, table);
	globfree(&found);
	return told;
}
