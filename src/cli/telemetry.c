/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/telemetry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/text.h"

#define GREETING_MAX 1024
#define REPLY_MAX    (1 << 20) /* bytes, the largest max_output_len that is plausible */

/*
 * Writes the path at which EAL creates the socket (eal_create_runtime_dir()). Returns false if it is
 * too long for a socket.
 */
static bool socket_path(const char *prefix, char *path, size_t size)
{
	const char *base = getenv("RUNTIME_DIRECTORY");

	if (!base)
		base = getuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
	if (!base)
		base = "/tmp";
	return snprintf(path, size, "%s/dpdk/%s/dpdk_telemetry.v2", base, prefix) < (int)size;
}

static int connect_to(const char *path, uint32_t timeout)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval wait = {.tv_sec = timeout};

	strcpy(addr.sun_path, path); /* socket_path() checked the length */
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) == 0 &&
		connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	command_error("%s: %s: is glb-director running, with this --file-prefix%s?", path, strerror(errno),
		getuid() == 0 ? "" : " and as this user");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Receives a datagram of JSON. Returns NULL after an error message. */
static json_t *receive(int fd, const char *path, size_t max)
{
	char *text = malloc(max);
	ssize_t size = text ? recv(fd, text, max, 0) : -1;
	json_error_t error;
	json_t *json = NULL;

	if (size < 0 && errno == EAGAIN)
		command_error("%s: no reply before the timeout; the director may still be busy", path);
	else if (size < 0)
		command_error("%s: %s", path, strerror(errno));
	else if (size == 0)
		command_error("%s: the connection was closed without a reply", path);
	else if (!(json = json_loadb(text, (size_t)size, 0, &error)))
		command_error("%s: the reply is not JSON: %s", path, error.text);
	free(text);
	return json;
}

static json_t *exchange(int fd, const char *path, const char *command)
{
	json_t *greeting = receive(fd, path, GREETING_MAX), *reply;
	json_int_t max = json_integer_value(json_object_get(greeting, "max_output_len"));

	if (!greeting)
		return NULL;
	json_decref(greeting);
	if (max <= 0 || max > REPLY_MAX) {
		command_error("%s: the greeting has no valid max_output_len", path);
		return NULL;
	}
	if (send(fd, command, strlen(command), MSG_NOSIGNAL) < 0) {
		command_error("%s: %s", path, strerror(errno));
		return NULL;
	}
	/* A reply can exceed max_output_len by the command's name and braces. */
	reply = receive(fd, path, (size_t)max + GREETING_MAX);
	return reply;
}

/*
 * Joins the strings KEY, KEY_2, KEY_3 and so on to one string KEY. The director splits long texts,
 * because a string of DPDK's telemetry has at most 127 bytes.
 */
static void join_text(json_t *object, const char *key)
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

int telemetry_request(const struct command_args *args, const char *command, json_t **reply)
{
	const char *prefix = args->options[TELEMETRY_FILE_PREFIX];
	const char *wait = args->options[TELEMETRY_TIMEOUT];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	uint32_t timeout = 10;
	json_t *received;
	int fd;

	if (wait && !text_number(wait, 1, 3600, &timeout))
		return command_usage("--timeout: '%s' is not a number of seconds from 1 to 3600", wait);
	if (!socket_path(prefix ? prefix : "rte", path, sizeof(path)))
		return command_usage("--file-prefix: '%s' is too long for a socket's path", prefix);
	fd = connect_to(path, timeout);
	if (fd < 0)
		return COMMAND_FAILED;
	received = exchange(fd, path, command);
	close(fd);
	if (!received)
		return COMMAND_FAILED;
	/* The only member is named after the command without its parameters. */
	*reply = json_incref(json_object_iter_value(json_object_iter(received)));
	json_decref(received);
	if (json_is_object(*reply)) {
		join_text(*reply, "error");
		join_text(*reply, "last_error");
		join_text(*reply, "table_path");
		return COMMAND_OK;
	}
	json_decref(*reply);
	return command_error("%s: this DPDK program has no command %s: is it glb-director?", path, command);
}
