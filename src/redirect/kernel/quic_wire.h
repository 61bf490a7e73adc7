/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the eBPF program reads QUIC connection IDs (docs/reference/redirect.md#quic): read-only data that the loader
 * computes, and the keys and values of the map of servers. Includes no header of the C library, which BPF programs do
 * not have. Words have the bytes of a packet in the order of the host, which is little-endian.
 */
#pragma once

#include <linux/types.h>

#define REDIRECT_QUIC_CONFIGS    8 /* the last one always names no server */
#define REDIRECT_QUIC_PORTS      (65536 / 8)
#define REDIRECT_QUIC_ROUND_KEYS 44 /* words of AES-128 */

/* A configuration. `size` 0: there is none with this ID. */
struct redirect_quic_config {
	__u8 size; /* bytes of server ID and nonce */
	__u8 passes; /* 0: not encrypted; 1: the block is decrypted; 3 or 4: passes of the Feistel network */
	__u16 unused;
	/* What pass 4, 3, 2 or 1 changes in the left (even pass) or right half: the bits that belong to the half. */
	__u32 halves[2][3];
	__u32 server_id[4]; /* the bits of the server ID */
	__u32 keys[REDIRECT_QUIC_ROUND_KEYS]; /* secret; for passes 1 in the order of decryption */
};

/* AES in one direction: what the byte of a row adds to its column in a round, and in the last round. */
struct redirect_quic_aes {
	__u32 tables[256][4], last[256][4];
};

/* Read-only data of the program. Without a configuration the verifier removes all code that reads QUIC. */
struct redirect_quic {
	__u32 is_used;
	__u8 ports[REDIRECT_QUIC_PORTS]; /* a bit for each UDP port of services with QUIC */
	struct redirect_quic_aes encrypt, decrypt;
	struct redirect_quic_config configs[REDIRECT_QUIC_CONFIGS];
};

/* Key of the map `quic_servers`. */
union redirect_quic_server {
	struct {
		__u8 id[15]; /* padded with zeros */
		__u8 config;
	};
	__u32 words[4];
};

/* Value of the map `quic_servers`. */
struct redirect_quic_address {
	__u32 family; /* 4 or 6; 0: this host, whatever its address is */
	__u32 words[4]; /* IPv4: the first one, and zeros */
};

/* 8 IDs of configurations for each backend of a large table, now and in its history. */
#define REDIRECT_QUIC_MAX_SERVERS (1 << 20)
