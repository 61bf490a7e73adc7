/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of glb-announce: asks the director, decides for each VIP, and tells the routing daemon. One thread. Everything that blocks
 * has a timeout.
 */
#ifndef GLB_ANNOUNCE_DAEMON_H
#define GLB_ANNOUNCE_DAEMON_H

#include "announce/config/announce_conf.h"
#include "announce/config/driver_conf.h"
#include "announce/director.h"
#include "announce/driver.h"
#include "announce/operator_switch.h"
#include "announce/vips.h"

struct daemon {
	const struct announce_conf *conf;
	const struct driver_conf *driver;
	struct director director;
	struct vips vips;
	struct operator_switch operator_switch;
	bool stopping;
	uint64_t started_s, changed_s; /* Unix time */
	/* When the routing daemon is asked again whether it still does what it was told. */
	uint64_t reassert_ms;
	/* The last command failed: why, how often in a row, and when the next attempt is. "": it did not. */
	char driver_error[DRIVER_ERROR_MAX];
	unsigned driver_failures;
	uint64_t driver_retry_ms;
	bool changed; /* the status file is old */
};

/* Runs until SIGTERM or SIGINT, which must be blocked. Returns the exit code. */
int daemon_run(const struct announce_conf *conf, const struct driver_conf *driver);

/* Returns what the VIP should be now. *reason: why. */
enum vips_state daemon_wish(const struct daemon *daemon, const struct vip *vip, const char **reason);

#endif
