/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a subcommand of glb-director-cli. What it prints goes nowhere; sanitizers and libFuzzer use the descriptor. */
#pragma once

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "program/command.h"

#define COMMAND_LINE_MAX 8

/* words: with the program and the subcommand, and NULL at the end. "FILE" stands for the path. */
static inline void command_line(const struct command *command, const char *const words[], const char *path)
{
	const struct command_program program = {.name = "f", .commands = &command, .count = 1};
	char *argv[COMMAND_LINE_MAX] = {NULL};
	static FILE *nowhere;
	int argc = 0;

	if (!nowhere)
		stdout = stderr = nowhere = fopen("/dev/null", "we");
	for (; words[argc]; argc++) {
		assert(argc + 1 < COMMAND_LINE_MAX);
		argv[argc] = (char *)(strcmp(words[argc], "FILE") == 0 ? path : words[argc]);
	}
	optind = 0; /* getopt(3) begins anew */
	command_main(&program, argc, argv);
}
