/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Perfect hashing of 32-bit keys: every key has a slot of its own, so a lookup loads two values and never loops. The
 * key selects a bucket, and the bucket has a multiplier that sends all of its keys to different free slots ("hash,
 * displace"). A hash is built once and read-only afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PERFECT_BUCKET_MULTIPLIER 0x9e3779b1u

struct perfect {
	uint32_t bucket_shift, slot_shift; /* 1..31 */
	uint32_t *multipliers; /* one for each bucket */
	bool single; /* there is only one bucket, because there are few keys */
};

static inline uint32_t perfect_slots(const struct perfect *perfect)
{
	return 1u << (32 - perfect->slot_shift);
}

static inline uint32_t perfect_buckets(const struct perfect *perfect)
{
	return perfect->single ? 1 : 1u << (32 - perfect->bucket_shift);
}

static inline uint32_t perfect_bucket(const struct perfect *perfect, uint32_t key)
{
	return perfect->single ? 0 : key * PERFECT_BUCKET_MULTIPLIER >> perfect->bucket_shift;
}

/* Less than perfect_slots(). A key that the hash was not built for gets the slot of any other key, or a free one. */
static inline uint32_t perfect_slot(const struct perfect *perfect, uint32_t key)
{
	return key * perfect->multipliers[perfect_bucket(perfect, key)] >> perfect->slot_shift;
}

/*
 * keys: distinct, 1 to 2^24 of them. False: out of memory, or no multiplier found. The latter only happens if somebody
 * chose the keys to cause it. The caller frees *perfect with perfect_free().
 */
bool perfect_build(struct perfect *perfect, const uint32_t *keys, uint32_t count);
void perfect_free(struct perfect *perfect);
