/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012) with a 16-byte key. The result is the
 * 64-bit value whose little-endian bytes are the digest bytes. Pure, thread-safe.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SIPHASH_KEY_SIZE 16

uint64_t siphash(const uint8_t key[SIPHASH_KEY_SIZE], const void *message, size_t size);

/* The same in pieces: every piece but the last has a multiple of 8 bytes. */
struct siphash_state {
	uint64_t v0, v1, v2, v3;
	uint64_t size;
};

/* The state of a key: v0 and v1 are its halves, each with a constant; v2 and v3 differ from them by these constants. */
#define SIPHASH_V0_TO_V2 (0x736f6d6570736575u ^ 0x6c7967656e657261u)
#define SIPHASH_V1_TO_V3 (0x646f72616e646f6du ^ 0x7465646279746573u)

void siphash_begin(struct siphash_state *state, const uint8_t key[SIPHASH_KEY_SIZE]);
void siphash_update(struct siphash_state *state, const void *piece, size_t size);
uint64_t siphash_end(struct siphash_state *state, const void *last, size_t size);
