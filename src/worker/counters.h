/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters of one lcore. Only that lcore writes them, with plain stores. Any thread may read them and add them up.
 * They only grow. Over all lcores, `received` is the sum of all verdicts whenever the director holds no packet.
 */
#pragma once

#include <stdint.h>

#include "packet/verdict.h"
#include "program/facts.h"

/*
 * 1: the worker counts packets of backends and binds, takes poll gaps, and tests whether a capture runs. The benchmark
 * also compiles it with 0, to measure what this costs.
 */
#ifndef WATCHES
#define WATCHES 1
#endif

/* counters_facts says what each member is. */
struct counters {
	uint64_t received, tx_packets, tx_bytes;
	uint64_t slow_path, general_path;
	uint64_t too_big_limited, too_big_without_df;
	/* in the order of enum quic_fate */
	uint64_t quic_routed, quic_down, quic_unroutable_config, quic_unroutable_short, quic_unroutable_server;
	/* one for each class of the control plane */
	uint64_t exception_neighbour, exception_link, exception_routing, exception_icmp, exception_other;
	uint64_t exception_limited_neighbour, exception_limited_link, exception_limited_routing, exception_limited_icmp,
		exception_limited_other;
	uint64_t exception_returned, exception_return_full, exception_return_refused;
	uint64_t polls, empty_polls, sleeps;
	uint64_t verdicts[VERDICT_COUNT];
};

/* The number of all counters. */
#define COUNTERS_VALUES (sizeof(struct counters) / sizeof(uint64_t))

/* All counters: received, the verdicts in the order of enum verdict, others. */
extern const struct fact counters_facts[];

/* Called by the owner. A reader sees the old value or the new one, never a mix of both. */
static inline void counters_add(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, *counter + value, __ATOMIC_RELAXED);
}

/* Adds all of *from to *sum. */
void counters_sum(struct counters *sum, const struct counters *from);
