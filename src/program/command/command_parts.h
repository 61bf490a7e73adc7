/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files command*.c share. One thread. */
#pragma once

#include "program/command.h"

int command_help_program(const struct command_program *program);
int command_help(const struct command *command, const char *program);

#define COMMAND_HELP_MAX 256

/* Returns the help of an option with its default, in `help` or as a constant. */
const char *command_option_help(const struct command_option *option, char help[COMMAND_HELP_MAX]);

/* Offers what can replace the last of `count` words, for a program and for a command whose name is not among
 * the words. */
int command_complete_program(const struct command_program *program, int count, char **words);
int command_complete(const struct command *command, command_values *values, int count, char **words);
