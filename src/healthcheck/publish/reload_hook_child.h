/* SPDX-License-Identifier: BSD-3-Clause */
/* The child process of the reload hook. */
#pragma once

#include "healthcheck/config/conf.h"

/* Exit codes after the director was notified. Any other one but 0 is a failure. */
enum {
	/* The director does not tell which table it uses. */
	RELOAD_HOOK_CHILD_UNVERIFIED = 3,
	/* The director uses another table than the one that was built. */
	RELOAD_HOOK_CHILD_STALE = 4,
};

/*
 * Runs reload_command, or builds the table, notifies the director, and compares the table that it uses with the one
 * that was built. Writes errors to stderr. Ends the process. data: a struct conf.
 */
void reload_hook_child_run(const void *data);
