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

/*
 * Sends the telemetry command `command` and waits for the reply. Returns COMMAND_OK and the reply's JSON
 * object in *reply, which the caller frees, or the exit code after an error message.
 */
int telemetry_request(const struct command_args *args, const char *command, json_t **reply);

#endif
