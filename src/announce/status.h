/* SPDX-License-Identifier: BSD-3-Clause */
/* The status file, which the daemon replaces at each change and at each check of the routing daemon. */
#ifndef GLB_ANNOUNCE_STATUS_H
#define GLB_ANNOUNCE_STATUS_H

#include <jansson.h>

#include "announce/daemon.h"

/* Writes the file. A failure is logged once, until it succeeds again. */
void status_write(const struct daemon *daemon);

/* Reads the prefixes of the VIPs in a status file, at most `max`. Returns their number; 0: there is no such file, or it is damaged. */
size_t status_read_prefixes(const char *path, struct netprefix *prefixes, size_t max);

/* Writes the line for `systemctl status`. */
void status_line(const struct daemon *daemon, char *line, size_t size);

#endif
