/* SPDX-License-Identifier: BSD-3-Clause */
/* A token bucket. The caller passes the time in any unit, for example CPU cycles or nanoseconds. Only one thread may
 * use a bucket. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct token_bucket {
	uint32_t tokens;
	uint64_t filled_at; /* time of the last refill; the part of an interval after it is not counted yet */
};

/* Adds one token for each interval since the last refill, up to `size` tokens. If the clock goes back, adds none. */
static inline void token_bucket_refill(struct token_bucket *bucket, uint64_t now, uint64_t interval, uint32_t size)
{
	uint64_t passed = now > bucket->filled_at ? now - bucket->filled_at : 0;
	uint64_t more = passed < interval ? 0 : passed / interval; /* mostly without the slow division */

	if (bucket->tokens + more >= size) {
		bucket->tokens = size;
		bucket->filled_at = now;
	} else if (now < bucket->filled_at) {
		bucket->filled_at = now;
	} else {
		bucket->tokens += (uint32_t)more;
		bucket->filled_at += more * interval;
	}
}

/* Takes one token. False: the bucket is empty. */
static inline bool token_bucket_take(struct token_bucket *bucket)
{
	if (bucket->tokens == 0)
		return false;
	bucket->tokens--;
	return true;
}
