/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits the too-big replies of one lcore (RFC 1812 section 4.3.2.8, RFC 4443 section 2.4 f). Each source prefix (/24
 * in IPv4, /56 in IPv6) has a token bucket, so that one sender does not use up the replies of the others. All prefixes
 * share a total. One thread uses a limit. Pure: callers pass the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/siphash.h"
#include "common/token_bucket.h"

/* Replies. */
#define TOO_BIG_LIMIT_PREFIX_PER_SECOND 10
#define TOO_BIG_LIMIT_PREFIX_BURST      50
#define TOO_BIG_LIMIT_PER_SECOND        1000 /* also the burst of all prefixes together */

/* The part of the burst of all prefixes that only prefixes with at least half of their own burst left may use. */
#define TOO_BIG_LIMIT_RESERVE (TOO_BIG_LIMIT_PER_SECOND / 2)

/* A prefix has the bucket that its keyed hash selects, so nobody outside can aim at the bucket of another prefix. */
#define TOO_BIG_LIMIT_BUCKETS 1024

struct too_big_limit {
	uint8_t key[SIPHASH_KEY_SIZE]; /* random */
	uint64_t now, prefix_interval; /* of the last too_big_limit_tick() */
	struct token_bucket total, prefixes[TOO_BIG_LIMIT_BUCKETS];
};

/* Fills *limit. All buckets are full. now: in the unit of too_big_limit_tick(). */
void too_big_limit_init(struct too_big_limit *limit, const uint8_t key[SIPHASH_KEY_SIZE], uint64_t now);

/* Tells the time. now: a clock with `hz` ticks a second. */
static inline void too_big_limit_tick(struct too_big_limit *limit, uint64_t now, uint64_t hz)
{
	limit->now = now;
	limit->prefix_interval = hz / TOO_BIG_LIMIT_PREFIX_PER_SECOND;
	token_bucket_refill(&limit->total, now, hz / TOO_BIG_LIMIT_PER_SECOND, TOO_BIG_LIMIT_PER_SECOND);
}

/* Returns whether a reply to this source (4 or 16 bytes by family) may be sent now, and counts it. */
bool too_big_limit_take(struct too_big_limit *limit, uint8_t family, const uint8_t *source);
