/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/telemetry.h"

#include <errno.h>
#include <glob.h>
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

/* Returns the part of a socket's path that begins with the prefix. */
static const char *prefix_of(const char *path)
{
	const char *at = strrchr(path, '/');

	while (at > path && at[-1] != '/')
		at--;
	return at;
}

/* Prints the prefixes of other directors that may run, so that a wrong --file-prefix is easy to see. */
static void note_prefixes(const char *path)
{
	char pattern[160], list[200] = "";
	glob_t found;

	/* PATH is BASE/PREFIX/dpdk_telemetry.v2. */
	snprintf(pattern, sizeof(pattern), "%.*s*/dpdk_telemetry.v2", (int)(prefix_of(path) - path), path);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = prefix_of(found.gl_pathv[i]);
		size_t size = strlen(list);

		snprintf(list + size, sizeof(list) - size, "%s%.*s", i ? ", " : "", (int)strcspn(name, "/"), name);
	}
	command_note("there are sockets for --file-prefix %s", list);
	globfree(&found);
}

static void explain_failure(const char *path, int error)
{
	switch (error) {
	case ENOENT:
		command_error("%s: no such socket: is glb-director running, with this --file-prefix%s?", path,
			getuid() == 0 ? "" : " and as this user");
		note_prefixes(path);
		break;
	case ECONNREFUSED:
		command_error("%s: nobody listens: glb-director has ended, or does not run yet", path);
		break;
	case EACCES:
	case EPERM:
		command_error("%s: permission denied: run this command as the director's user, usually root", path);
		break;
	default:
		command_error("%s: %s", path, strerror(error));
	}
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
	explain_failure(path, errno);
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

/* Reads the greeting, which says how large replies can be. */
static bool greet(struct telemetry *telemetry)
{
	json_t *greeting = receive(telemetry->fd, telemetry->path, GREETING_MAX);
	json_int_t max = json_integer_value(json_object_get(greeting, "max_output_len"));

	telemetry->pid = json_integer_value(json_object_get(greeting, "pid"));
	if (!greeting)
		return false;
	json_decref(greeting);
	if (max <= 0 || max > REPLY_MAX) {
		command_error("%s: the greeting has no valid max_output_len", telemetry->path);
		return false;
	}
	/* A reply can exceed max_output_len by the command's name and braces. */
	telemetry->reply_max = (size_t)max + GREETING_MAX;
	return true;
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

int telemetry_open(struct telemetry *telemetry, const struct command_args *args)
{
	const char *prefix = args->options[TELEMETRY_FILE_PREFIX];
	const char *wait = args->options[TELEMETRY_TIMEOUT];
	uint32_t timeout = 10;

	if (wait && !text_number(wait, 1, 3600, &timeout))
		return command_usage("--timeout: '%s' is not a number of seconds from 1 to 3600", wait);
	if (!socket_path(prefix ? prefix : "rte", telemetry->path, sizeof(telemetry->path)))
		return command_usage("--file-prefix: '%s' is too long for a socket's path", prefix);
	telemetry->fd = connect_to(telemetry->path, timeout);
	if (telemetry->fd < 0)
		return COMMAND_FAILED;
	if (greet(telemetry))
		return COMMAND_OK;
	telemetry_close(telemetry);
	return COMMAND_FAILED;
}

void telemetry_close(struct telemetry *telemetry)
{
	close(telemetry->fd);
}

json_t *telemetry_ask(struct telemetry *telemetry, const char *command)
{
	static const char *const texts[] = {"error", "last_error", "slow", "table_path", "table_name"};
	json_t *received, *reply;

	if (send(telemetry->fd, command, strlen(command), MSG_NOSIGNAL) < 0) {
		command_error("%s: %s", telemetry->path, strerror(errno));
		return NULL;
	}
	received = receive(telemetry->fd, telemetry->path, telemetry->reply_max);
	if (!received)
		return NULL;
	/* The only member is named after the command without its parameters. */
	reply = json_incref(json_object_iter_value(json_object_iter(received)));
	json_decref(received);
	if (!json_is_object(reply)) {
		json_decref(reply);
		command_error("%s: this DPDK program has no command %.*s: is it glb-director?", telemetry->path,
			(int)strcspn(command, ","), command);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		telemetry_join_text(reply, texts[i]);
	return reply;
}

int telemetry_request(const struct command_args *args, const char *command, json_t **reply)
{
	struct telemetry telemetry;
	int code = telemetry_open(&telemetry, args);

	if (code != COMMAND_OK)
		return code;
	*reply = telemetry_ask(&telemetry, command);
	telemetry_close(&telemetry);
	return *reply ? COMMAND_OK : COMMAND_FAILED;
}
