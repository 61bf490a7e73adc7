/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends requests to a running director over DPDK's telemetry socket, version 2. A datagram carries one
 * JSON object. One thread; blocks.
 */
#ifndef GLB_CLI_TELEMETRY_H
#define GLB_CLI_TELEMETRY_H

#include <jansson.h>

#include "cli/cli.h"

/* The first two options of every subcommand that sends a request, in this order. */
enum { TELEMETRY_FILE_PREFIX, TELEMETRY_TIMEOUT, TELEMETRY_OPTIONS };

#define TELEMETRY_OPTION_LIST                                                                             \
	[TELEMETRY_FILE_PREFIX] = {"file-prefix", "NAME", "the director's --file-prefix (default: rte)"}, \
	[TELEMETRY_TIMEOUT] = {"timeout", "SECONDS", "seconds to wait for the reply (default: 10)"}

/* A connection to a director. Its members belong to telemetry.c. */
struct telemetry {
	int fd;
	size_t reply_max; /* bytes */
	json_int_t pid; /* of the director */
	char path[108]; /* as in struct sockaddr_un */
};

/* Connects to the director. Returns COMMAND_OK, or the exit code after an error message. The caller closes it. */
int telemetry_open(struct telemetry *telemetry, const struct command_args *args);
void telemetry_close(struct telemetry *telemetry);

/*
 * Sends the telemetry command `command` and waits for the reply. Returns its JSON object, which the caller frees. NULL:
 * an error message was printed. Texts that the director had to split are whole again. A reply may be {"error": TEXT}.
 */
json_t *telemetry_ask(struct telemetry *telemetry, const char *command);

/*
 * Joins the strings KEY, KEY_2, KEY_3 and so on of an object to one string KEY. The director splits long texts, because a string of
 * DPDK's telemetry has at most 127 bytes.
 */
void telemetry_join_text(json_t *object, const char *key);

/* Does the same over a new connection, which it closes. Returns COMMAND_OK and the reply in *reply, or the exit code. */
int telemetry_request(const struct command_args *args, const char *command, json_t **reply);

#endif
