/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the subcommands of glb-announce. One thread. Only the files of the subcommands print. */
#pragma once

#include "announce/config/announce_conf.h"
#include "program/command.h"

/* The first option of every subcommand. */
enum { COMMANDS_CONFIG_FILE, COMMANDS_OPTIONS };

#define COMMANDS_OPTION_LIST \
	[COMMANDS_CONFIG_FILE] = {"config-file", "FILE", "the configuration", INSTALLED_ANNOUNCE_CONF}

/* The options of a subcommand that has no others. */
extern const struct command_option commands_options[];

extern const struct command status_command, withdraw_command, announce_command, release_command;

/* Reads the configuration without the driver file, and prints all faults. False: it has errors. The caller frees it in
 * either case. */
bool commands_read(const struct command_args *args, struct announce_conf *conf);
