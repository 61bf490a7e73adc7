/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters of one lcore. Only that lcore writes them, with plain stores. Any thread may read them and add them up.
 * They only grow. Over all lcores, `received` is the sum of all verdicts whenever the director holds no packet.
 */
#ifndef GLB_WORKER_COUNTERS_H
#define GLB_WORKER_COUNTERS_H

#include <stdint.h>

#include "packet/verdict.h"

/*
 * 1: the worker counts packets of backends and binds, takes poll gaps, and tests whether a capture runs. The benchmark
 * also compiles it with 0, to measure what this costs.
 */
#ifndef WATCHES
#define WATCHES 1
#endif

/* member, which is also the name of the counter; help text (docs/reference/counters.md has the same) */
#define COUNTERS_LIST(X)                                                                                                  \
	X(received, "frames received from the ports")                                                                     \
	X(tx_packets, "frames that the ports accepted for sending")                                                       \
	X(tx_bytes, "bytes of the frames in tx_packets, with their Ethernet headers")                                     \
	X(slow_path, "received frames that the worker had to copy: several segments, a shared buffer, or tags taken out") \
	X(general_path, "received frames that took the general path, which is slower than the fast path")                 \
	X(too_big_limited, "frames in drop_too_big that got no too-big reply because of the rate limit")                  \
	X(too_big_without_df, "frames in drop_too_big that got no too-big reply because they are IPv4 without DF")        \
	X(exception_neighbour, "frames in exception of the class neighbour")                                              \
	X(exception_link, "frames in exception of the class link")                                                        \
	X(exception_routing, "frames in exception of the class routing")                                                  \
	X(exception_icmp, "frames in exception of the class ICMP")                                                        \
	X(exception_other, "frames in exception of no class of the control plane")                                        \
	X(exception_limited_neighbour, "frames in drop_exception_limited of the class neighbour")                         \
	X(exception_limited_link, "frames in drop_exception_limited of the class link")                                   \
	X(exception_limited_routing, "frames in drop_exception_limited of the class routing")                             \
	X(exception_limited_icmp, "frames in drop_exception_limited of the class ICMP")                                   \
	X(exception_limited_other, "frames in drop_exception_limited of no class of the control plane")                   \
	X(exception_returned, "frames from the exception path that a port accepted for sending")                          \
	X(exception_return_full, "frames from the exception path that were dropped because the transmit queue was full")  \
	X(exception_return_refused,                                                                                       \
		"frames from the exception path that the port cannot send: too long, or several segments")                \
	X(polls, "iterations of the lcore over all its queues")                                                           \
	X(empty_polls, "iterations that received no packet")                                                              \
	X(sleeps, "times that the lcore slept (only with idle = \"sleep\")")

struct counters {
#define X(member, help) uint64_t member;
	COUNTERS_LIST(X)
#undef X
	uint64_t verdicts[VERDICT_COUNT];
};

/* Called by the owner. A reader sees the old value or the new one, never a mix of both. */
static inline void counters_add(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, *counter + value, __ATOMIC_RELAXED);
}

/* Adds all of *from to *sum. */
void counters_sum(struct counters *sum, const struct counters *from);

struct counters_value {
	const char *name, *help;
	uint64_t value;
};

/* The number of all counters. */
#define COUNTERS_ONE(member, help) +1
enum { COUNTERS_VALUES = VERDICT_COUNT COUNTERS_LIST(COUNTERS_ONE) };

/* Lists all counters in the order received, verdicts, others. Returns their number. */
unsigned counters_list(const struct counters *counters, struct counters_value values[COUNTERS_VALUES]);

#endif
