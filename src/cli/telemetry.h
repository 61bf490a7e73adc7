/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to a running director over DPDK's telemetry socket, version 2: one JSON object a
 * datagram. */
#ifndef GLB_CLI_TELEMETRY_H
#define GLB_CLI_TELEMETRY_H

#include <jansson.h>

#include "cli/cli.h"

/* The first two options of subcommands that ask, in this order. */
enum { TELEMETRY_FILE_PREFIX, TELEMETRY_TIMEOUT, TELEMETRY_OPTIONS };

#define TELEMETRY_OPTION_LIST                                                                  \
	[TELEMETRY_FILE_PREFIX] = {"file-prefix", "NAME", "the director's; rte unless given"}, \
	[TELEMETRY_TIMEOUT] = {"timeout", "SECONDS", "to wait for the answer; 10 unless given"}

/*
 * Asks for `command`. COMMAND_OK: *answer is the JSON object under the command's name, which the caller
 * frees. Otherwise why not was reported, and the result is the exit code.
 */
int telemetry_ask(const struct command_args *args, const char *command, json_t **answer);

#endif
