/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of one lcore, which alone writes them (plain stores); any thread may read, and adds up.
 * They only ever grow. received = the sum of the verdicts over all lcores whenever no packet is
 * under way.
 */
#ifndef GLB_WORKER_COUNTERS_H
#define GLB_WORKER_COUNTERS_H

#include <stdint.h>

#include "packet/verdict.h"
#include "table/table.h"

/* Tables of the old and of the new routes can be counted apart, whatever their names. */
#define COUNTERS_SLOTS (2 * TABLE_MAX_TABLES)

/* member and name, help */
#define COUNTERS_LIST(X)                                                                    \
	X(received, "frames taken from the ports")                                          \
	X(tx_packets, "frames that the ports took for sending")                             \
	X(tx_bytes, "their bytes, Ethernet headers included")                               \
	X(slow_path, "received frames that were copied: in several segments, or shared")    \
	X(too_big_limited, "of drop_too_big: not answered because of the rate limit")       \
	X(exception_returned, "frames of the exception path that were sent")                \
	X(exception_return_full, "frames of the exception path that the port did not take") \
	X(polls, "rounds over all queues of the lcore")                                     \
	X(empty_polls, "rounds that found nothing")                                         \
	X(sleeps, "times the lcore slept (idle = \"sleep\")")

struct counters_table {
	uint64_t packets, bytes; /* forwarded; bytes as sent */
};

struct counters {
#define X(member, help) uint64_t member;
	COUNTERS_LIST(X)
#undef X
	uint64_t verdicts[VERDICT_COUNT];
	struct counters_table tables[COUNTERS_SLOTS];
} __attribute__((aligned(64)));

/* By the owner. A reader sees the old or the new value, never half of it. */
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

#define COUNTERS_VALUES (VERDICT_COUNT + 10)

/* All but the tables, for people and telemetry: received, the verdicts, the rest. Returns how many.
 */
unsigned counters_list(const struct counters *counters, struct counters_value values[COUNTERS_VALUES]);

#endif
