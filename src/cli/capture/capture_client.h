/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to the capture thread of a director. Errors are printed. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/capture_messages.h"

struct capture_client {
	int fd;
	char path[108]; /* of the socket */
	size_t size; /* bytes of the message that was received last */
	uint8_t message[CAPTURE_MESSAGE_MAX] __attribute__((aligned(8)));
};

/*
 * Connects to the director with this --file-prefix. Returns COMMAND_OK, or the exit code. The caller closes client->fd
 * if it is not negative.
 */
int capture_client_open(struct capture_client *client, const char *prefix, unsigned timeout_s);

/*
 * Sends the request. From then on the director shows that there is a capture. A director that refuses at once has
 * closed its side, but its reply can be received.
 */
void capture_client_send(const struct capture_client *client, const struct capture_request *request);

/* Receives the reply, without waiting for it. Returns COMMAND_OK and the start in client->message, or the exit code. */
int capture_client_reply(struct capture_client *client);

/*
 * Receives the next message. Returns its type (enum capture_type), or -1 after an error message: the director has
 * ended, or the message is not valid. Every record of a CAPTURE_PACKETS has the sizes that it claims.
 */
int capture_client_receive(struct capture_client *client);

/* The records of the last message, which is a CAPTURE_PACKETS. *at: NULL for the first one. Returns false behind the
 * last one. */
bool capture_client_next(const struct capture_client *client, const struct capture_record **at);
