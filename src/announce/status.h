/* SPDX-License-Identifier: BSD-3-Clause */
/* The status file, which the daemon replaces at each change and at each check of the routing daemon. */
#ifndef GLB_ANNOUNCE_STATUS_H
#define GLB_ANNOUNCE_STATUS_H

#include <jansson.h>

#include "announce/daemon.h"

/* Writes the file. A failure is logged once, until it succeeds again. */
void status_write(const struct daemon *daemon);

#define STATUS_MAX_PREFIXES (ANNOUNCE_MAX_VIPS + 1)

/*
 * Reads the prefixes of a status file that may be announced: at most `max`. Returns their number; 0: there are none, or the file is
 * missing or damaged.
 */
size_t status_read_prefixes(const char *path, struct netprefix *prefixes, size_t max);

/* Writes the line for `systemctl status`. */
void status_line(const struct daemon *daemon, char *line, size_t size);

#endif
