/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remembers when a table last forwarded packets. One thread at a time samples the table's counter, so that workers pay
 * nothing. Pure: callers pass the time, in milliseconds of clock_now_ms().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRAFFIC_RECENT_MS 60000

struct traffic {
	uint64_t packets; /* the counter at the last sample */
	bool seen; /* the counter has changed since the first sample */
	uint64_t seen_ms; /* when a sample last differed from the one before */
};

static inline void traffic_sample(struct traffic *traffic, uint64_t packets, uint64_t now_ms)
{
	if (packets == traffic->packets)
		return;
	*traffic = (struct traffic){.packets = packets, .seen = true, .seen_ms = now_ms};
}

static inline bool traffic_is_recent(const struct traffic *traffic, uint64_t now_ms)
{
	return traffic->seen && now_ms - traffic->seen_ms <= TRAFFIC_RECENT_MS;
}
