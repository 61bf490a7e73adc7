/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/capture/capture_client.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "program/command.h"
#include "program/telemetry_socket.h"

static int explain(const struct capture_client *client, int error)
{
	switch (error) {
	case ENOENT:
		return command_error("%s: no such socket: is glb-director running, with this --file-prefix%s?",
			client->path, getuid() == 0 ? "" : " and as this user");
	case ECONNREFUSED:
		return command_error("%s: nobody listens: glb-director has ended, or does not run yet", client->path);
	case EACCES:
	case EPERM:
		return command_error(
			"%s: permission denied: run this command as root or as the director's user", client->path);
	case EAGAIN:
		return command_error("%s: no reply before the timeout; the director may be busy", client->path);
	default:
		return command_error("%s: %s", client->path, strerror(error));
	}
}

void capture_client_send(const struct capture_client *client, const struct capture_request *request)
{
	size_t size = offsetof(struct capture_request, program) + request->program_size * sizeof(request->program[0]);

	if (send(client->fd, request, size, MSG_NOSIGNAL) < 0)
		return; /* the error of the reply says why */
}

int capture_client_reply(struct capture_client *client)
{
	const struct capture_end *refusal = (const struct capture_end *)client->message;
	ssize_t size = recv(client->fd, client->message, sizeof(client->message), MSG_DONTWAIT);
	uint32_t type;

	if (size < 0)
		return explain(client, errno);
	if ((size_t)size < sizeof(type))
		return command_error(
			"%s: the director closed the connection without a reply, as it does while it stops or is very busy: try again",
			client->path);
	client->size = (size_t)size;
	memcpy(&type, client->message, sizeof(type));
	if (type == CAPTURE_REFUSED && client->size == sizeof(*refusal))
		return command_error("capture: %.*s", (int)sizeof(refusal->text), refusal->text);
	if (type != CAPTURE_STARTED || client->size != sizeof(struct capture_start) ||
		((const struct capture_start *)client->message)->port_count > CAPTURE_MAX_PORTS)
		return command_error("%s: the reply is not valid: is the director of the same version?", client->path);
	return COMMAND_OK;
}

int capture_client_open(struct capture_client *client, const char *prefix, unsigned timeout_s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval wait = {.tv_sec = timeout_s};

	client->fd = -1;
	if (!telemetry_socket_path(prefix, CAPTURE_SOCKET, client->path))
		return command_usage("capture: --file-prefix: '%s' is too long for a socket's path", prefix);
	strcpy(address.sun_path, client->path); /* telemetry_socket_path() checked the length */
	client->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (client->fd < 0 || setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
		connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return explain(client, errno);
	return COMMAND_OK;
}

bool capture_client_next(const struct capture_client *client, const struct capture_record **at)
{
	const uint8_t *end = client->message + client->size;
	const uint8_t *next = *at ? (const uint8_t *)*at + (*at)->size : client->message + sizeof(struct capture_packets);

	*at = (const struct capture_record *)next;
	return next < end;
}

static bool is_valid(const struct capture_client *client)
{
	const uint8_t *end = client->message + client->size;
	const struct capture_record *record = NULL;

	if (client->size < sizeof(struct capture_packets))
		return false;
	while (capture_client_next(client, &record)) {
		size_t left = (size_t)(end - (const uint8_t *)record);

		if (left < sizeof(*record) || record->size % 8 || record->size > left || record->size < sizeof(*record) ||
			(uint64_t)record->in_captured + record->out_captured > record->size - sizeof(*record))
			return false;
	}
	return true;
}

int capture_client_receive(struct capture_client *client)
{
	ssize_t size = recv(client->fd, client->message, sizeof(client->message), 0);
	uint32_t type;

	if (size < (ssize_t)sizeof(type)) {
		command_error(
			"%s: the director has ended, or it has ended the capture because this program read nothing for 5 seconds",
			client->path);
		return -1;
	}
	client->size = (size_t)size;
	memcpy(&type, client->message, sizeof(type));
	if ((type == CAPTURE_PACKETS && is_valid(client)) ||
		(type == CAPTURE_TABLES && client->size >= sizeof(struct capture_tables)) ||
		(type == CAPTURE_ENDED && client->size == sizeof(struct capture_end)))
		return (int)type;
	command_error("%s: a message of the director is not valid", client->path);
	return -1;
}
