/* SPDX-License-Identifier: BSD-3-Clause */
/* What the daemon knows, for people (JSON) and for Prometheus (OpenMetrics). */
#ifndef GLB_HEALTHCHECK_HTTP_STATUS_H
#define GLB_HEALTHCHECK_HTTP_STATUS_H

#include "healthcheck/monitor.h"

/* malloc'd text; NULL: out of memory. */
char *status_json(const struct monitor *monitor);
char *status_metrics(const struct monitor *monitor);

#endif
