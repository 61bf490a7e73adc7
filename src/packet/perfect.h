/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Perfect hashing of 32-bit keys: every key has a slot of its own, so a lookup is two loads and no
 * loop. A key's bucket gives the multiplier that was found to send all keys of the bucket to free
 * slots ("hash, displace"). Built once, then read-only.
 */
#ifndef GLB_PACKET_PERFECT_H
#define GLB_PACKET_PERFECT_H

#include <stdbool.h>
#include <stdint.h>

#define PERFECT_BUCKET_MULTIPLIER 0x9e3779b1u

struct perfect {
	uint32_t bucket_shift, slot_shift; /* 1..31 */
	uint32_t *multipliers; /* of each bucket */
	bool single; /* there is one bucket: the keys are few, and have room enough */
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

/* Below perfect_slots(); of a key that it was not built for: any. */
static inline uint32_t perfect_slot(const struct perfect *perfect, uint32_t key)
{
	return key * perfect->multipliers[perfect_bucket(perfect, key)] >> perfect->slot_shift;
}

/* The keys are distinct, 1 to 2^24 of them. False: out of memory, or (never seen) no multiplier
 * found. */
bool perfect_build(struct perfect *perfect, const uint32_t *keys, uint32_t count);
void perfect_free(struct perfect *perfect);

#endif
