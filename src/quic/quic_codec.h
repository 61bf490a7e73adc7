/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The codec's inside, which src/quic and its tests share. The round keys and masks are bytes in the order of the wire.
 * The left and the right half of a CID's plaintext fill the begin of a block of 16 bytes. If the plaintext has an odd
 * length, they share its middle byte: the left half has the high 4 bits, the right half the low ones.
 */
#pragma once

#include <nettle/aes.h>

#include "quic/quic.h"

/* Passes of the cipher until the whole server ID is known. */
enum quic_passes {
	QUIC_UNKEYED = 0,
	QUIC_SINGLE_PASS = 1,
	QUIC_THREE_PASSES = 3,
	/* The server ID is longer than the left half. */
	QUIC_FOUR_PASSES = 4,
};

#define QUIC_ROUND_KEYS 11

typedef void quic_decode_function(const struct quic_codec *codec, uint8_t (*slots)[QUIC_SLOT], uint32_t count);

struct quic_codec {
	/* of quic_decode_aesni(): for encryption, or for decryption if there is a single pass */
	uint8_t round_keys[QUIC_ROUND_KEYS][16];
	/* For pass 1 to 4, at index 0 to 3: the first round key and the bytes of expand() that are no input. */
	uint8_t first_keys[4][16];
	uint8_t left_mask[16], right_mask[16], server_id_mask[16];
	/* Moves the right half behind the left one: PSHUFB's indices, of which 0x80 makes a zero. */
	uint8_t right_place[16];
	quic_decode_function *decode_many;
	enum quic_passes passes;
	uint8_t plaintext_length;
	/* of a half, rounded up */
	uint8_t half_length;
	struct quic_config config;
	struct aes128_ctx encrypt, decrypt;
};

/* Any CPU: libnettle, which may use the CPU's instructions, too. */
quic_decode_function quic_decode_plain;

#ifdef __x86_64__
quic_decode_function quic_decode_aesni;

/* Fills round_keys and first_keys. Needs AES-NI. */
void quic_expand_keys(struct quic_codec *codec);
#endif

/* The fastest that this CPU can run. */
quic_decode_function *quic_fastest_decode(void);
