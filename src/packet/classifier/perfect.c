/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/classifier/perfect.h"

#include <stdlib.h>
#include <string.h>

enum {
	KEYS_PER_BUCKET = 4,
	SLOTS_PER_KEY = 2, /* at least */
	MAX_TRIES = 1 << 16, /* multipliers to try for a bucket; usually one of the first 12 fits */
	/*
	 * Up to SINGLE_KEYS keys first try a single bucket. About one multiplier of 60 fits 64 keys. With half of the
	 * slots, it would be one of 6000.
	 */
	SINGLE_KEYS = 64,
	SINGLE_SLOTS_PER_KEY = 8, /* at least */
	NO_KEY = UINT32_MAX,
};

/* The keys of each bucket, as linked lists of key indices. */
struct chains {
	uint32_t *first; /* by bucket: key index or NO_KEY */
	uint32_t *next; /* by key: key index or NO_KEY */
	uint32_t *size; /* by bucket */
	uint32_t longest; /* size of the largest bucket */
};

static uint32_t shift_for(uint32_t wanted)
{
	uint32_t bits = 1;

	while (1u << bits < wanted)
		bits++;
	return 32 - bits;
}

static void chain_keys(const struct perfect *perfect, const uint32_t *keys, uint32_t count, struct chains *chains)
{
	memset(chains->first, 0xff, perfect_buckets(perfect) * sizeof(*chains->first));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bucket = perfect_bucket(perfect, keys[i]);

		chains->next[i] = chains->first[bucket];
		chains->first[bucket] = i;
		if (++chains->size[bucket] > chains->longest)
			chains->longest = chains->size[bucket];
	}
}

/*
 * Marks the slots of all keys in the chain as taken. False: two keys want the same slot, or it is taken; nothing is
 * marked.
 */
static bool take_slots(
	uint8_t *taken, const uint32_t *keys, const uint32_t *next, uint32_t first, uint32_t multiplier, uint32_t shift)
{
	for (uint32_t i = first; i != NO_KEY; i = next[i]) {
		uint8_t *slot = &taken[keys[i] * multiplier >> shift];

		if (*slot) {
			for (uint32_t undo = first; undo != i; undo = next[undo])
				taken[keys[undo] * multiplier >> shift] = 0;
			return false;
		}
		*slot = 1;
	}
	return true;
}

static bool place_bucket(const struct perfect *perfect, const uint32_t *keys, const struct chains *chains,
	uint32_t bucket, uint8_t *taken)
{
	uint32_t multiplier = 0x85ebca6bu;

	for (uint32_t tries = 0; tries < MAX_TRIES; tries++) {
		if (take_slots(taken, keys, chains->next, chains->first[bucket], multiplier, perfect->slot_shift)) {
			perfect->multipliers[bucket] = multiplier;
			return true;
		}
		multiplier = (multiplier * 1664525u + 1013904223u) | 1;
	}
	return false;
}

/* Places the largest buckets first, while most slots are free. */
static bool place_all(const struct perfect *perfect, const uint32_t *keys, const struct chains *chains, uint8_t *taken)
{
	for (uint32_t size = chains->longest; size > 0; size--)
		for (uint32_t bucket = 0; bucket < perfect_buckets(perfect); bucket++)
			if (chains->size[bucket] == size && !place_bucket(perfect, keys, chains, bucket, taken))
				return false;
	return true;
}

/* Builds *perfect, whose shifts are set already. */
static bool build(struct perfect *perfect, const uint32_t *keys, uint32_t count)
{
	struct chains chains = {0};
	uint8_t *taken;
	bool done = false;

	chains.first = calloc(perfect_buckets(perfect), sizeof(*chains.first));
	chains.size = calloc(perfect_buckets(perfect), sizeof(*chains.size));
	chains.next = calloc(count, sizeof(*chains.next));
	taken = calloc(perfect_slots(perfect), sizeof(*taken));
	perfect->multipliers = calloc(perfect_buckets(perfect), sizeof(*perfect->multipliers));
	if (chains.first && chains.size && chains.next && taken && perfect->multipliers) {
		chain_keys(perfect, keys, count, &chains);
		done = place_all(perfect, keys, &chains, taken);
	}
	free(chains.first);
	free(chains.size);
	free(chains.next);
	free(taken);
	if (!done)
		perfect_free(perfect);
	return done;
}

bool perfect_build(struct perfect *perfect, const uint32_t *keys, uint32_t count)
{
	if (count <= SINGLE_KEYS) {
		*perfect = (struct perfect){
			.bucket_shift = 31, .slot_shift = shift_for(count * SINGLE_SLOTS_PER_KEY), .single = true};
		if (build(perfect, keys, count))
			return true;
	}
	*perfect = (struct perfect){
		.bucket_shift = shift_for(count / KEYS_PER_BUCKET),
		.slot_shift = shift_for(count * SLOTS_PER_KEY),
	};
	return build(perfect, keys, count);
}

void perfect_free(struct perfect *perfect)
{
	free(perfect->multipliers);
	perfect->multipliers = NULL;
}
