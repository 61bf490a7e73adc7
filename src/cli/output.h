/* SPDX-License-Identifier: BSD-3-Clause */
/* Protects the user's files: every command that writes a file asks output_is_safe() before it writes. One thread. */
#pragma once

#include <stdbool.h>

enum output_kind {
	OUTPUT_BINARY_TABLE,
	OUTPUT_JSON_TABLE,
	OUTPUT_CAPTURE, /* pcap or pcapng */
};

#define OUTPUT_MAX_INPUTS 4

/* A file that a command is about to write. The strings are borrowed. For standard input and output, use /dev/stdin and
 * /dev/stdout. */
struct output {
	const char *path;
	enum output_kind kind;
	bool force; /* the user has given --force */
	const char *inputs[OUTPUT_MAX_INPUTS]; /* all files that the command reads, in any order; NULL: none */
};

/*
 * Returns true if the command may write output->path. Otherwise prints an error, which names the files and says what to
 * do, and returns false:
 *
 * - The path names the same file as an input, also by a link or another spelling. --force does not change this.
 * - A file is there, and its content is not of output->kind. An empty file can be replaced. --force allows the rest.
 *
 * Devices, FIFOs, folders, and paths that do not exist or cannot be reached are left to the function that writes.
 */
bool output_is_safe(const struct output *output);
