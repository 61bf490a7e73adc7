/* SPDX-License-Identifier: BSD-3-Clause */
/* The status file, which the daemon replaces at each change and at each check of the routing daemon. */
#pragma once

#include "announce/daemon.h"

/*
 * Writes the file to the disk, and notes which VIPs it records. Returns false if it cannot be written, which is logged
 * once until it succeeds again; then the old file stays.
 */
bool status_write(struct daemon *daemon);

#define STATUS_MAX      (4 << 20) /* bytes */
#define STATUS_MAX_VIPS (ANNOUNCE_MAX_VIPS + 1) /* with the address of the probe */

/*
 * Reads what an earlier process knew of its VIPs: how long they stay withdrawn (at most hold_max_ms), how often they
 * flapped, and VIPS_WITHDRAWN for those that it had withdrawn. All others may be announced. Returns 0; or -errno with
 * an error in faults, and VIPs may be lacking: the file cannot be read or is damaged, or -ENOENT: it is missing.
 */
int status_read(const struct announce_conf *conf, struct vips *vips, struct faults *faults);

/* Writes the line for `systemctl status`. */
void status_line(const struct daemon *daemon, char *line, size_t size);
