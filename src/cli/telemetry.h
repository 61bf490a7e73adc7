/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends requests of the subcommands to a running director, and prints the errors. One thread; blocks. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"
#include "program/telemetry_socket.h"

/* The first two options of every subcommand that sends a request, in this order. */
enum { TELEMETRY_FILE_PREFIX, TELEMETRY_TIMEOUT, TELEMETRY_OPTIONS };

#define TELEMETRY_OPTION_LIST                                                                     \
	[TELEMETRY_FILE_PREFIX] = {"file-prefix", "NAME", "the director's --file-prefix", "rte"}, \
	[TELEMETRY_TIMEOUT] = {"timeout", "SECONDS", "seconds to wait for the reply", "10", 1, 3600}

/* A connection to a director. */
struct telemetry {
	struct telemetry_socket socket;
};

/* Connects to the director. Returns COMMAND_OK, or the exit code after an error message. The caller closes it. */
int telemetry_open(struct telemetry *telemetry, const struct command_args *args);
void telemetry_close(struct telemetry *telemetry);

/* The same, but prints no error that is not about the options. Returns 0; -errno with an error in faults; or
 * COMMAND_USAGE. */
int telemetry_connect(struct telemetry *telemetry, const struct command_args *args, struct faults *faults);

/* As telemetry_socket_ask(). Returns the reply, which the caller frees. NULL: an error message was printed. */
json_t *telemetry_ask(struct telemetry *telemetry, const char *command);

/* Does the same over a new connection, which it closes. Returns COMMAND_OK and the reply in *reply, or the
 * exit code. */
int telemetry_request(const struct command_args *args, const char *command, json_t **reply);
