/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks a running director over DPDK's telemetry socket, version 2. A datagram carries one JSON object. Every function
 * blocks, at most for the timeout of the socket. One thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#include "common/faults.h"

#define TELEMETRY_SOCKET_PATH 108 /* bytes, as in struct sockaddr_un */

/* A connection to a director. Its members belong to telemetry_socket.c, except for those that have a comment. */
struct telemetry_socket {
	/* It becomes readable when the director ends. -1: there is no connection. */
	int fd;
	size_t reply_max; /* bytes */
	/* Process id of the director, in its own namespace. */
	json_int_t pid;
	char path[TELEMETRY_SOCKET_PATH];
};

/* Writes the path of the socket `name` of the director with this --file-prefix. False: it is too long for a socket. */
bool telemetry_socket_path(const char *prefix, const char *name, char path[TELEMETRY_SOCKET_PATH]);

/*
 * Connects to the director with this --file-prefix. The timeout, in milliseconds, also applies to each later reply.
 * Returns 0; or -errno with an error in faults: -ENOENT or -ECONNREFUSED if no director runs. The caller closes the
 * socket.
 */
int telemetry_socket_open(
	struct telemetry_socket *socket, const char *prefix, unsigned timeout_ms, struct faults *faults);
/* Connects to the director that is this process, whatever its --file-prefix is. Returns false if it is not found. */
bool telemetry_socket_open_process(struct telemetry_socket *socket, pid_t pid, unsigned timeout_ms);
void telemetry_socket_close(struct telemetry_socket *socket);

/*
 * Sends the telemetry command `command` and waits for the reply. Returns 0 and its JSON object (an array for some
 * commands of DPDK), which the caller frees. Texts that the director had to split are whole again. A reply may be
 * {"error": TEXT}. Or returns -errno with an error in faults: -EPIPE or -ECONNRESET if the director has ended, -EAGAIN
 * after the timeout. After an error the socket must be closed, because the reply may come later.
 */
int telemetry_socket_ask(struct telemetry_socket *socket, const char *command, json_t **reply, struct faults *faults);

/*
 * Joins the strings KEY, KEY_2, KEY_3 and so on of an object to one string KEY. The director splits long texts, because
 * a string of DPDK's telemetry has at most 127 bytes.
 */
void telemetry_join_text(json_t *object, const char *key);

/* Returns the names of other directors that have a socket beside this one, "" if there are none. The caller frees the
 * text. */
char *telemetry_socket_others(const struct telemetry_socket *socket);
