/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A token bucket that any number of threads share, without a lock. Its state is one number: the time at which it will
 * be full again. A thread that finds it empty only reads, so a flood that is refused does not move the cache line
 * between cores. The caller passes the time in any unit, for example CPU cycles. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct shared_bucket {
	uint64_t full_at; /* atomic */
	uint64_t interval; /* time per token; 0: the bucket never has a token */
	uint64_t depth; /* time in which the empty bucket becomes full */
} __attribute__((aligned(64)));

/* A full bucket of `size` tokens that gets `rate` tokens in each `second`. */
static inline struct shared_bucket shared_bucket_full(uint64_t rate, uint64_t size, uint64_t second)
{
	uint64_t interval = rate ? (second + rate - 1) / rate : 0;

	return (struct shared_bucket){.interval = interval, .depth = size * interval};
}

/*
 * Takes one token. False: the bucket is empty. The clocks of the threads may differ by less than the time that fills
 * the bucket. A bucket that seems to have been used in a later future was used before the clock went back: it counts as
 * full.
 */
static inline bool shared_bucket_take(struct shared_bucket *bucket, uint64_t now)
{
	uint64_t full_at = __atomic_load_n(&bucket->full_at, __ATOMIC_RELAXED), from;

	if (!bucket->interval)
		return false;
	do {
		from = full_at > now && full_at - now <= 2 * bucket->depth ? full_at : now;
		if (from - now + bucket->interval > bucket->depth)
			return false;
	} while (!__atomic_compare_exchange_n(
		&bucket->full_at, &full_at, from + bucket->interval, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}
