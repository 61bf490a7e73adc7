/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/telemetry_socket.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/text.h"

#define GREETING_MAX 1024
#define REPLY_MAX    (1 << 20) /* bytes, the largest max_output_len that is plausible */

/* EAL's folder for sockets depends on the user; eal_create_runtime_dir() chooses it. */
static const char *runtime_folder(void)
{
	const char *base = getenv("RUNTIME_DIRECTORY");

	if (!base)
		base = getuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
	return base ? base : "/tmp";
}

bool telemetry_socket_path(const char *prefix, const char *name, char path[TELEMETRY_SOCKET_PATH])
{
	return snprintf(path, TELEMETRY_SOCKET_PATH, "%s/dpdk/%s/%s", runtime_folder(), prefix, name) <
	       TELEMETRY_SOCKET_PATH;
}

/* Returns the part of a socket's path that begins with the prefix. */
static const char *prefix_of(const char *path)
{
	const char *at = strrchr(path, '/');

	while (at > path && at[-1] != '/')
		at--;
	return at;
}

char *telemetry_socket_others(const struct telemetry_socket *socket)
{
	const char *path = socket->path;
	char pattern[160], *list = NULL;
	size_t size;
	FILE *out = open_memstream(&list, &size);
	glob_t found;

	if (!out)
		return NULL;
	/* PATH is BASE/PREFIX/dpdk_telemetry.v2. */
	snprintf(pattern, sizeof(pattern), "%.*s*/dpdk_telemetry.v2", (int)(prefix_of(path) - path), path);
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *name = prefix_of(found.gl_pathv[i]);

			fprintf(out, "%s%.*s", i ? ", " : "", (int)strcspn(name, "/"), name);
		}
		globfree(&found);
	}
	fclose(out);
	return list;
}

static void explain_failure(const char *path, int error, struct faults *faults)
{
	switch (error) {
	case ENOENT:
		faults_error(faults, path, "no such socket: is glb-director running, with this --file-prefix%s?",
			getuid() == 0 ? "" : " and as this user");
		break;
	case ECONNREFUSED:
		faults_error(faults, path, "nobody listens: glb-director has ended, or does not run yet");
		break;
	case EACCES:
	case EPERM:
		faults_error(faults, path, "permission denied: run this command as the director's user, usually root");
		break;
	default:
		faults_error(faults, path, "%s", strerror(error));
	}
}

/* Returns 0 or -errno. */
static int connect_to(struct telemetry_socket *telemetry, unsigned timeout_ms, struct faults *faults)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval wait = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
	int error;

	telemetry->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	strcpy(addr.sun_path, telemetry->path); /* telemetry_socket_path() checked the length */
	if (telemetry->fd >= 0 && setsockopt(telemetry->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
		setsockopt(telemetry->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) == 0 &&
		connect(telemetry->fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return 0;
	error = errno;
	explain_failure(telemetry->path, error, faults);
	return -error;
}

/* Receives a datagram of JSON. Returns 0 or -errno. */
static int receive(const struct telemetry_socket *telemetry, size_t max, json_t **json, struct faults *faults)
{
	char *text = malloc(max);
	ssize_t size = text ? recv(telemetry->fd, text, max, 0) : -1;
	int error = size < 0 ? errno : 0;
	json_error_t fault;

	*json = NULL;
	if (error == EAGAIN) {
		faults_error(faults, telemetry->path, "no reply before the timeout; the director may still be busy");
	} else if (error) {
		faults_error(faults, telemetry->path, "%s", strerror(error));
	} else if (size == 0) {
		faults_error(faults, telemetry->path, "the connection was closed without a reply");
		error = EPIPE;
	} else if (!(*json = json_loadb(text, (size_t)size, 0, &fault))) {
		faults_error(faults, telemetry->path, "the reply is not JSON: %s", text_without_token(fault.text));
		error = EPROTO;
	}
	free(text);
	return -error;
}

/* Reads the greeting, which says how large replies can be. A director with too many connections closes this one
 * instead. */
static int greet(struct telemetry_socket *telemetry, struct faults *faults)
{
	json_t *greeting;
	int error = receive(telemetry, GREETING_MAX, &greeting, faults);
	json_int_t max = json_integer_value(json_object_get(greeting, "max_output_len"));

	telemetry->pid = json_integer_value(json_object_get(greeting, "pid"));
	json_decref(greeting);
	if (error)
		return error == -EPIPE ? -EBUSY : error;
	if (max <= 0 || max > REPLY_MAX) {
		faults_error(faults, telemetry->path, "the greeting has no valid max_output_len");
		return -EPROTO;
	}
	/* A reply can exceed max_output_len by the command's name and braces. */
	telemetry->reply_max = (size_t)max + GREETING_MAX;
	return 0;
}

void telemetry_join_text(json_t *object, const char *key)
{
	json_t *whole = json_object_get(object, key);
	char name[64];

	for (unsigned i = 2; json_is_string(whole); i++) {
		const json_t *part;

		snprintf(name, sizeof(name), "%s_%u", key, i);
		part = json_object_get(object, name);
		if (!json_is_string(part))
			return;
		whole = json_sprintf("%s%s", json_string_value(whole), json_string_value(part));
		json_object_set_new(object, key, whole);
		json_object_del(object, name);
	}
}

/* Connects to telemetry->path. Returns 0 or -errno. */
static int open_path(struct telemetry_socket *telemetry, unsigned timeout_ms, struct faults *faults)
{
	int error = connect_to(telemetry, timeout_ms, faults);

	if (!error)
		error = greet(telemetry, faults);
	if (error)
		telemetry_socket_close(telemetry);
	return error;
}

int telemetry_socket_open(
	struct telemetry_socket *telemetry, const char *prefix, unsigned timeout_ms, struct faults *faults)
{
	telemetry->fd = -1;
	if (!telemetry_socket_path(prefix, "dpdk_telemetry.v2", telemetry->path)) {
		faults_error(faults, NULL, "the file prefix '%s' is too long for a socket's path", prefix);
		return -ENAMETOOLONG;
	}
	return open_path(telemetry, timeout_ms, faults);
}

bool telemetry_socket_open_process(struct telemetry_socket *telemetry, pid_t pid, unsigned timeout_ms)
{
	struct faults faults = {0}; /* about other programs */
	bool is_open = false;
	char pattern[256];
	glob_t found;

	telemetry->fd = -1;
	snprintf(pattern, sizeof(pattern), "%s/dpdk/*/dpdk_telemetry.v2", runtime_folder());
	if (glob(pattern, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc && !is_open; i++) {
		if (snprintf(telemetry->path, sizeof(telemetry->path), "%s", found.gl_pathv[i]) >=
				(int)sizeof(telemetry->path) ||
			open_path(telemetry, timeout_ms, &faults))
			continue;
		is_open = telemetry->pid == pid;
		if (!is_open)
			telemetry_socket_close(telemetry);
	}
	globfree(&found);
	faults_clear(&faults);
	return is_open;
}

void telemetry_socket_close(struct telemetry_socket *telemetry)
{
	if (telemetry->fd >= 0)
		close(telemetry->fd);
	telemetry->fd = -1;
}

int telemetry_socket_ask(struct telemetry_socket *telemetry, const char *command, json_t **reply, struct faults *faults)
{
	static const char *const texts[] = {"error", "last_error", "slow", "table_path", "table_name"};
	json_t *received;
	int error;

	*reply = NULL;
	if (send(telemetry->fd, command, strlen(command), MSG_NOSIGNAL) < 0) {
		error = errno;
		faults_error(faults, telemetry->path, "%s", strerror(error));
		return -error;
	}
	error = receive(telemetry, telemetry->reply_max, &received, faults);
	if (error)
		return error;
	/* The only member is named after the command without its parameters. */
	*reply = json_incref(json_object_iter_value(json_object_iter(received)));
	json_decref(received);
	if (!json_is_object(*reply) && !json_is_array(*reply)) {
		json_decref(*reply);
		*reply = NULL;
		faults_error(faults, telemetry->path, "this DPDK program has no command %.*s: is it glb-director?",
			(int)strcspn(command, ","), command);
		return -ENOSYS;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		telemetry_join_text(*reply, texts[i]);
	return 0;
}
