/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the subcommands of glb-bifurcate, which has one thread. Only the subcommands' files and main.c print. */
#ifndef GLB_BIFURCATE_COMMANDS_H
#define GLB_BIFURCATE_COMMANDS_H

#include <stdint.h>

#include "common/faults.h"
#include "program/command.h"

/* Each command is defined in the file with its name, such as sync.c. */
extern const struct command sync_command, show_command, clear_command, apply_command, status_command, undo_command;

/* Prints and clears all faults. Returns COMMAND_FAILED. */
int commands_print_faults(struct faults *faults);

#endif
