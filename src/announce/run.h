/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program of the driver file, and waits for its end. Blocks, at most for the timeout and a second.
 * One thread. */
#ifndef GLB_ANNOUNCE_RUN_H
#define GLB_ANNOUNCE_RUN_H

#include <stddef.h>

/*
 * Runs a program with these arguments, which end with NULL, no environment of the caller, and `input` (NULL: nothing)
 * on stdin. `output`: what it wrote to stdout and stderr, cut to the size, ending with NUL. Returns the exit code; 128
 * and the number of the signal that killed it; or -errno: it could not be run, or -ETIMEDOUT: it, and all processes in
 * its group, were killed after the timeout.
 */
int run_program(char *const argv[], const char *input, unsigned timeout_ms, char *output, size_t size);

#endif
