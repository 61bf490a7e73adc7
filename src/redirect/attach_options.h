/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of `glb-redirect attach`. glb-director-cli checks them in the unit's environment file, so this depends on
 * no libbpf. Constant data and a pure function.
 */
#pragma once

#include <stdbool.h>

#include "program/command.h"
#include "redirect/redirect.h"

enum {
	ATTACH_MODE,
	ATTACH_PORT,
	ATTACH_UDP,
	ATTACH_SYN_COOKIES,
	ATTACH_FORWARD,
	ATTACH_CONFIG_FILE,
	ATTACH_DEBUG,
};

/* Ends with an option without a name. */
extern const struct command_option attach_options[];

/* Sets the members of *settings that have an option, and *generic. False: `error` says which value is wrong. */
bool attach_options_read(const struct command_args *args, struct redirect_settings *settings, bool *generic,
	char error[COMMAND_FAULT_MAX]);
