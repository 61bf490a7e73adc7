/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the subcommands of glb-bifurcate, which has one thread. Only the subcommands' files and main.c print. */
#pragma once

#include "program/command.h"

extern const struct command sync_command, show_command, clear_command; /* map_commands.c */
extern const struct command apply_command, status_command, undo_command; /* vf/apply.c, and so on */
