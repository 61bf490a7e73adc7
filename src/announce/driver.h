/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the routing daemon to announce or withdraw a prefix, as the driver file says. Blocks while programs run. One
 * thread. */
#pragma once

#include <stdbool.h>

#include "announce/config/driver_conf.h"

#define DRIVER_ERROR_MAX 256

/* Announces or withdraws a prefix. Doing so again changes nothing. Returns false, and in `error` what failed. */
bool driver_set(
	const struct driver_conf *conf, const struct netprefix *prefix, bool announce, char error[DRIVER_ERROR_MAX]);

/*
 * Announces or withdraws many prefixes with one program; the driver file must have `batch`. done[i]: the check found
 * the prefix to be otherwise before, and as it should be afterwards. The caller calls driver_set() for the others,
 * whose errors are not known. Returns false, and in `error` what failed: a program could not be run, or did not end.
 */
bool driver_set_batch(const struct driver_conf *conf, const struct netprefix *prefixes, size_t count, bool announce,
	bool *done, char error[DRIVER_ERROR_MAX]);

/* Runs the check. Returns what it printed, which the caller frees; or NULL, and in `error` what failed. */
char *driver_check(const struct driver_conf *conf, char error[DRIVER_ERROR_MAX]);

/* Returns whether the prefix is announced, if the check printed this. */
bool driver_is_announced(const struct driver_conf *conf, const struct netprefix *prefix, const char *printed);
