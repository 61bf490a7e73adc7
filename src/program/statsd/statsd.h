/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends metrics to a statsd server over UDP: counters as the difference to the last round, gauges as they are. Info
 * metrics and histograms are left out. A server that is down, or has no address, costs nothing but a line in the log:
 * no function waits. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "program/openmetrics.h"

#define STATSD_HOST_SIZE   254
#define STATSD_PREFIX_SIZE 64

struct statsd_config {
	bool enabled;
	char host[STATSD_HOST_SIZE]; /* a name or an address */
	uint16_t port;
	char prefix[STATSD_PREFIX_SIZE]; /* before all names, with a dot between */
	bool tags; /* labels become tags of DogStatsD; otherwise their values become parts of the name */
};

struct statsd;

/* *config must exist until statsd_close(). NULL: out of memory. */
struct statsd *statsd_open(const struct statsd_config *config);

/*
 * Looks up the host, in the background and again from time to time. Returns whether metrics can be sent. now_ms: of
 * clock_now_ms().
 */
bool statsd_ready(struct statsd *statsd, uint64_t now_ms);

/*
 * A round: for each metric call statsd_take(), which is for openmetrics.take, and then statsd_end(). complete: no
 * metric was left out, so those that are missing do not exist any more.
 */
void statsd_take(void *statsd, const struct openmetrics *family, const struct openmetrics_label *labels, double value);
void statsd_end(struct statsd *statsd, bool complete, uint64_t now_ms);

void statsd_close(struct statsd *statsd);
