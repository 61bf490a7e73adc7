/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends the metrics to a statsd server every 10 seconds. A round about a large table is sent in steps, so that the
 * thread serves HTTP meanwhile. HTTP thread only.
 */
#pragma once

#include "director/http/metrics.h"

struct statsd;
struct statsd_config;

struct statsd_round {
	struct director *director;
	/* NULL: nothing is sent. */
	struct statsd *statsd;
	/* When the next round begins, in milliseconds of clock_now_ms(). */
	uint64_t next_ms;
	bool running;
	struct metrics metrics;
};

/* Sends nothing if config->enabled is not set. */
void statsd_round_open(struct statsd_round *round, struct director *director, const struct statsd_config *config);
void statsd_round_close(struct statsd_round *round);

/* Does a step. Returns after how many milliseconds it must be called again; -1: never. */
int statsd_round_step(struct statsd_round *round);
