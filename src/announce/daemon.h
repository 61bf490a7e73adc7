/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of `glb-announce run`, and its loop: round_ask() asks the director and decides for each VIP, and
 * actions_run() tells the routing daemon. One thread. Everything that blocks has a timeout.
 */
#pragma once

#include "announce/config/settings.h"
#include "announce/director.h"
#include "announce/driver.h"
#include "announce/operator_switch.h"
#include "announce/probe.h"
#include "announce/vips.h"

struct daemon {
	const char *path; /* of the configuration */
	struct settings settings;
	struct director director;
	/* With the address of the probe, if there is one. */
	struct vips vips;
	struct probe probe;
	/* Whether pings come back, which proves that the director forwards. */
	struct decision proof;
	struct operator_switch operator_switch;
	bool stopping;
	uint64_t started_s; /* Unix time */
	/* When the routing daemon is asked again whether it still does what it was told. */
	uint64_t reassert_ms;
	/* Why a command failed, the last one that did; "": none fails now. */
	char driver_error[DRIVER_ERROR_MAX];
	struct vips_retry check_retry;
	/* Until then VIPs are set one by one, because a batch did not end. */
	uint64_t batch_next_ms;
	bool changed; /* the status file is old */
};

/*
 * Runs until SIGTERM or SIGINT, which must be blocked. `settings` are those of the file `path`, and daemon_run() frees
 * them. Returns the exit code.
 */
int daemon_run(const char *path, const struct settings *settings);
