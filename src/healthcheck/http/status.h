/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's state as text: JSON for people, OpenMetrics for Prometheus. docs/reference/healthcheck.md describes
 * both.
 */
#ifndef GLB_HEALTHCHECK_HTTP_STATUS_H
#define GLB_HEALTHCHECK_HTTP_STATUS_H

#include "healthcheck/monitor/monitor.h"

/* Both return text for the caller to free(), or NULL if out of memory. */
char *status_json(const struct monitor *monitor);
char *status_metrics(const struct monitor *monitor);

#endif
