/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What users configure about health checks, and its limits. Two readers fill these structs: that of healthcheck.conf
 * (healthcheck/config) and that of the JSON table (table/table_json_health). Plain data; includes nothing of the daemon.
 */
#ifndef GLB_HEALTHCHECK_CHECKS_SETTINGS_H
#define GLB_HEALTHCHECK_CHECKS_SETTINGS_H

#include <stdint.h>

#define CHECK_INTERVAL_MS_MIN 10
#define CHECK_TIMEOUT_MS_MIN  1
#define CHECK_TIMING_MS_MAX   3600000 /* of intervals and timeouts */
#define CHECK_TRIGGER_MAX     1000
#define CHECK_URI_MAX         2048 /* bytes */

/* 0 in a member: not configured. */
struct check_timing {
	unsigned interval_ms, timeout_ms;
	/* results in a row that change a verdict to healthy, to unhealthy */
	unsigned trigger_healthy, trigger_unhealthy;
};

/* The checks of one backend. Ports in host byte order; 0: no check of this kind. */
struct check_targets {
	uint16_t http, tcp, gue, fou;
	char *http_uri; /* NULL: "/" */
};

#endif
