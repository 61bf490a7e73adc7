/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command check: runs a program of this host, without a shell, and takes its exit code as Nagios does: 0 and 1
 * pass, 2 fails, 3 is no result. The event loop's thread never waits for the program or its file: the child process
 * opens it. A program that cannot be killed is left alone. Its check does not run again before the program ends.
 */
#pragma once

#include <ev.h>

#include "common/faults.h"
#include "healthcheck/checks/probe.h"

/* The most output of a program, in bytes. More fails the check. */
#define COMMAND_OUTPUT_MAX 65536

/* The most programs that were killed and have not ended. While there are so many, no check starts another. */
#define COMMAND_LEFT_MAX 256

/* Returns NULL and adds an error on failure. `loop` must be the default loop. */
struct commands *check_command_open(struct ev_loop *loop, struct faults *faults);

/* No command probe may be running. Kills the programs that are left, and waits until they have ended, at most two
 * seconds. */
void check_command_close(struct commands *commands);
