/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection IDs (CIDs) of QUIC that name the server, as draft-ietf-quic-load-balancers-21 defines them, and the place
 * of a CID in a datagram, as RFC 8999 defines it. docs/reference/quic.md has the rules. Pure, thread-safe: nothing here
 * changes after quic_codec_create(). All values are bytes in the order of the wire.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Their IDs are 0 to 6. The ID 7 means that a CID names no server. */
#define QUIC_MAX_CONFIGS   7
#define QUIC_MAX_SERVER_ID 15
#define QUIC_MIN_NONCE     4
#define QUIC_MAX_NONCE     18
/* server ID and nonce */
#define QUIC_MAX_PLAINTEXT 19
/* The longest CID of a configuration, and of QUIC 1 and 2. Another version may have CIDs of 255 bytes. */
#define QUIC_MAX_CID  20
#define QUIC_KEY_SIZE 16
/* of a backend; they differ in length */
#define QUIC_MAX_SERVER_IDS 2

struct quic_config {
	uint8_t id;
	uint8_t server_id_length;
	uint8_t nonce_length;
	/* False: observers can read the server ID. The key is then zero. */
	bool keyed;
	/* secret */
	uint8_t key[QUIC_KEY_SIZE];
};

struct quic_server_id {
	/* 0: none */
	uint8_t length;
	/* The unused bytes are zero. */
	uint8_t bytes[QUIC_MAX_SERVER_ID];
};

/* NULL, or what is wrong with the configuration, in words that follow the name of the configuration. */
const char *quic_config_fault(const struct quic_config *config);

/* The ID of the configuration that a CID was made with. */
static inline uint8_t quic_config_id(uint8_t first_octet)
{
	return (uint8_t)(first_octet >> 5);
}

/* How many bytes of a CID the configuration uses. A server may append bytes. */
static inline uint32_t quic_cid_size(const struct quic_config *config)
{
	return 1u + config->server_id_length + config->nonce_length;
}

/* A configuration with its expanded key. */
struct quic_codec;

/* Copies the configuration, which must have no fault. Returns NULL when there is no memory. */
struct quic_codec *quic_codec_create(const struct quic_config *config);

/* Also overwrites the key. NULL is allowed. */
void quic_codec_free(struct quic_codec *codec);

/*
 * Writes quic_cid_size() bytes to `cid`. The server ID and the nonce have the lengths of the configuration. The first
 * octet has the configuration's ID and the low 5 bits of `low_bits`.
 */
void quic_encode(
	const struct quic_codec *codec, uint8_t low_bits, const uint8_t *server_id, const uint8_t *nonce, uint8_t *cid);

/*
 * Reads quic_cid_size() bytes of `cid`. Writes the server ID, and the nonce unless it is NULL, in the lengths of the
 * configuration.
 */
void quic_decode(const struct quic_codec *codec, const uint8_t *cid, uint8_t *server_id, uint8_t *nonce);

#define QUIC_SLOT       32
#define QUIC_MAX_DECODE 64

/*
 * The same for `count` CIDs, at most QUIC_MAX_DECODE, with the CPU's AES instructions. slots[i] begins with a CID.
 * Replaces the first 16 bytes of each slot with the server ID, padded with zeros. The rest of the slot is undefined.
 */
void quic_decode_many(const struct quic_codec *codec, uint8_t (*slots)[QUIC_SLOT], uint32_t count);

/* A CID in a datagram. */
struct quic_dcid {
	/* inside the datagram */
	const uint8_t *bytes;
	/* A short header does not tell it: all bytes that are left. */
	uint32_t size;
	bool long_header;
};

/*
 * Finds the destination CID of a UDP payload. Returns false when the datagram ends before the CID does, or the CID has
 * no bytes. Reads only the type of the header and the lengths of the CIDs, so that every version of QUIC works, also
 * with the fixed bit cleared (RFC 9287).
 */
bool quic_find_dcid(const uint8_t *payload, uint32_t size, struct quic_dcid *dcid);

/*
 * Finds the source CID in the long header of a packet that a server sent and an ICMP error quotes. Returns false when
 * the header is short, the quote ends before the CID does, or the CID has no bytes.
 */
bool quic_find_quoted_scid(const uint8_t *payload, uint32_t size, struct quic_dcid *scid);
