/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Driver files, which say how a routing daemon is told to announce a VIP (docs/reference/announce.md#driver-files).
 * Read once, then constant. One thread.
 */
#pragma once

#include <stdbool.h>

#include "common/faults.h"
#include "common/netaddr.h"
#include "conf/conf_key.h"

struct driver_conf {
	/* All are owned. Programs with arguments, which end with NULL. If there is a pipe, announce and withdraw are
	 * NULL. */
	char **announce, **withdraw;
	/* A pipe whose reader takes lines, or NULL; and the lines for it or for `batch`. */
	char *pipe, *announce_line, *withdraw_line;
	/* Programs with arguments, or NULL. `batch` takes the lines of many VIPs on stdin. */
	char **batch, **check;
	/* A regular expression (POSIX, extended) that the output of `check` matches if a VIP is announced. */
	char *announced;
	unsigned timeout_ms;
};

/* Returns like announce_conf_read(). The caller calls driver_conf_free() in either case. */
int driver_conf_read(const char *path, struct driver_conf *conf, struct faults *faults);
void driver_conf_free(struct driver_conf *conf);

/* The keys of driver files. */
extern const struct conf_key driver_conf_keys[];

/* Returns whether both announce and withdraw in the same way, so that one withdraws what the other has announced. */
bool driver_conf_is_same(const struct driver_conf *a, const struct driver_conf *b);

enum driver_quoting {
	DRIVER_PLAIN,
	DRIVER_REGEX, /* dots of addresses match dots only */
};

/* Returns the text with the values of the prefix in place of {prefix} and so on; the caller frees it. NULL: out of
 * memory. */
char *driver_conf_expand(const char *text, const struct netprefix *prefix, enum driver_quoting quoting);
