/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands that read a file or, with --live, a running director. One thread. */
#pragma once

#include "cli/live/snapshot.h"

/* The first options of these subcommands, in this order. */
enum { LIVE = TELEMETRY_OPTIONS, LIVE_OPTIONS };

#define LIVE_OPTION_LIST \
	TELEMETRY_OPTION_LIST, [LIVE] = {"live", NULL, "ask a running director instead of reading a file"}

/*
 * Checks that the command line has `operands` operands beside TABLE, and TABLE or --live. Returns COMMAND_OK, or
 * COMMAND_USAGE after an error message that begins with the name of the subcommand.
 */
int live_check(const struct command_args *args, const char *name, int operands);

/* show --live: prints binds, backends and their packets. table: only this one; NULL: all. Returns the exit code. */
int live_show(const struct command_args *args, const char *table, bool json);

struct endpoint;

/* lookup --live: prints where the director would send a packet. protocol: tcp, udp or icmp. Returns the exit code. */
int live_lookup(const struct command_args *args, const char *protocol, const struct endpoint *source,
	const struct endpoint *destination, bool json);
