/* SPDX-License-Identifier: BSD-3-Clause */
/* The status file, which the daemon replaces at each change and at each check of the routing daemon. */
#ifndef GLB_ANNOUNCE_STATUS_H
#define GLB_ANNOUNCE_STATUS_H

#include <jansson.h>

#include "announce/daemon.h"

/* Writes the file. A failure is logged once, until it succeeds again. */
void status_write(const struct daemon *daemon);

#define STATUS_MAX_VIPS (ANNOUNCE_MAX_VIPS + 1) /* with the address of the probe */

/*
 * Reads what an earlier process knew of its VIPs: how long they stay withdrawn (at most hold_max_ms), how often they flapped, and VIPS_WITHDRAWN for those that
 * it had withdrawn. All others may be announced. No VIPs: the file is missing or damaged. Returns false: out of memory.
 */
bool status_read(const struct announce_conf *conf, struct vips *vips);

/* Writes the line for `systemctl status`. */
void status_line(const struct daemon *daemon, char *line, size_t size);

#endif
