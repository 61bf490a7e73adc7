/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/siphash.h"

#include "common/byteorder.h"

static uint64_t rotate_left(uint64_t value, unsigned by)
{
	return value << by | value >> (64 - by);
}

static void round_once(struct siphash_state *s)
{
	s->v0 += s->v1;
	s->v1 = rotate_left(s->v1, 13) ^ s->v0;
	s->v0 = rotate_left(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate_left(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate_left(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate_left(s->v1, 17) ^ s->v2;
	s->v2 = rotate_left(s->v2, 32);
}

static void compress(struct siphash_state *s, uint64_t word)
{
	s->v3 ^= word;
	round_once(s);
	round_once(s);
	s->v0 ^= word;
}

void siphash_begin(struct siphash_state *state, const uint8_t key[SIPHASH_KEY_SIZE])
{
	uint64_t k0 = load_le64(key), k1 = load_le64(key + 8);

	*state = (struct siphash_state){
		.v0 = k0 ^ 0x736f6d6570736575u,
		.v1 = k1 ^ 0x646f72616e646f6du,
		.v2 = k0 ^ 0x6c7967656e657261u,
		.v3 = k1 ^ 0x7465646279746573u,
	};
}

void siphash_update(struct siphash_state *state, const void *piece, size_t size)
{
	const uint8_t *at = piece;

	state->size += size;
	for (; size >= 8; at += 8, size -= 8)
		compress(state, load_le64(at));
}

uint64_t siphash_end(struct siphash_state *state, const void *last, size_t size)
{
	size_t tail = size % 8;
	uint64_t word;

	siphash_update(state, last, size);
	word = state->size << 56;
	for (size_t i = 0; i < tail; i++)
		word |= (uint64_t)((const uint8_t *)last)[size - tail + i] << (8 * i);
	compress(state, word);
	state->v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		round_once(state);
	return state->v0 ^ state->v1 ^ state->v2 ^ state->v3;
}

uint64_t siphash(const uint8_t key[SIPHASH_KEY_SIZE], const void *message, size_t size)
{
	struct siphash_state state;

	siphash_begin(&state, key);
	return siphash_end(&state, message, size);
}
