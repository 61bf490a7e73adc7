/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of binary tables. Numbers are little-endian, addresses in network byte order.
 * docs/reference/table-binary.md describes the layout, and a test compares the two. The structs may be at any address.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

#define TABLE_FILE_MAGIC "GLBD"
#define PACKED           __attribute__((packed))

struct table_file_start {
	uint8_t magic[4];
	uint32_t version;
} PACKED;

/* Version 2 */

#define V2_TABLES 64
#define V2_SLOTS  256
#define V2_HOPS   2

struct v2_header {
	struct table_file_start start;
	uint32_t table_count;
	uint32_t rows; /* TABLE_ROWS */
	uint32_t backend_slots; /* V2_SLOTS */
	uint32_t bind_slots; /* V2_SLOTS */
} PACKED;

struct v2_backend {
	uint32_t family;
	uint8_t address[16];
	uint16_t state;
	uint16_t health;
} PACKED;

struct v2_bind {
	uint32_t family;
	uint8_t address[16];
	uint16_t prefix_length;
	uint16_t port_start;
	uint16_t port_end;
	uint8_t protocol;
	uint8_t zero;
} PACKED;

struct v2_table {
	uint32_t backend_count;
	struct v2_backend backends[V2_SLOTS];
	uint32_t bind_count;
	struct v2_bind binds[V2_SLOTS];
	uint8_t hash_key[SIPHASH_KEY_SIZE];
	uint32_t rows[TABLE_ROWS][V2_HOPS];
} PACKED;

_Static_assert(sizeof(struct v2_header) == 24, "v2 header");
_Static_assert(sizeof(struct v2_backend) * V2_SLOTS == 6144, "v2 backends");
_Static_assert(sizeof(struct v2_bind) * V2_SLOTS == 7168, "v2 binds");
_Static_assert(sizeof(struct v2_table) == 4 + 6144 + 4 + 7168 + 16 + 524288, "v2 table");

/*
 * Version 3 has a header, one entry per table, and then for each table four sections: name, backends, binds and rows.
 * Each section starts at the next multiple of V3_ALIGNMENT; the bytes between are zero. Extensions come last.
 */

#define V3_ALIGNMENT 8

struct v3_header {
	struct table_file_start start;
	uint64_t total_size; /* bytes of the file */
	uint64_t digest; /* SipHash-2-4 with a zero key, of the file with this field zero */
	uint32_t table_count;
	uint32_t rows; /* TABLE_ROWS */
	uint64_t replaces; /* fingerprint of the set that this one may replace, or 0 */
} PACKED;

struct v3_table {
	uint8_t hash_key[SIPHASH_KEY_SIZE];
	uint32_t name_offset; /* all offsets are from the start of the file */
	uint32_t name_size; /* bytes, without NUL */
	uint32_t backends_offset;
	uint32_t backend_count;
	uint32_t binds_offset;
	uint32_t bind_count;
	uint32_t rows_offset; /* of TABLE_ROWS * row_hops backend indices, 16 bits each */
	uint8_t row_hops;
	uint8_t hops; /* configured; row_hops is less if there are too few backends */
	uint8_t extended; /* 1: the table has an extension */
	uint8_t zero;
} PACKED;

struct v3_backend {
	uint8_t family;
	uint8_t state;
	uint8_t health;
	uint8_t zero;
	uint8_t address[16];
} PACKED;

#define V3_BIND_QUIC 1

struct v3_bind {
	uint8_t family;
	uint8_t protocol;
	uint8_t prefix_length;
	uint8_t flags; /* V3_BIND_QUIC or 0 */
	uint8_t address[16];
	uint16_t port_start;
	uint16_t port_end;
} PACKED;

/*
 * The extensions follow the sections of all tables. Each has this struct, a 16-bit weight for each backend, zeros up to
 * the next multiple of V3_ALIGNMENT, the QUIC configurations, the server IDs of each backend if there is a
 * configuration, and then the previous states.
 */
struct v3_extension {
	uint16_t balance;
	uint16_t past_count;
	uint8_t quic_count;
	uint8_t zero[3];
} PACKED;

struct v3_quic {
	uint8_t id;
	uint8_t server_id_length;
	uint8_t nonce_length;
	uint8_t keyed; /* 0: the key is zero */
	uint8_t key[QUIC_KEY_SIZE];
} PACKED;

/* A backend has QUIC_MAX_SERVER_IDS of them, the shortest first, and unused ones last. */
struct v3_server_id {
	uint8_t length; /* 0: unused */
	uint8_t bytes[QUIC_MAX_SERVER_ID]; /* and zeros */
} PACKED;

/* A previous state, newest first. Its backends follow. */
struct v3_past {
	int64_t time; /* Unix seconds, UTC */
	uint32_t backend_count;
	uint16_t balance;
	uint8_t zero[2];
} PACKED;

/* Follows the address, which has 4 or 16 bytes, by the family of the table's backends. The server IDs follow it if the
 * table has a QUIC configuration. */
struct v3_past_backend {
	uint16_t weight;
	uint8_t unhealthy; /* 0 or 1 */
	uint8_t zero;
} PACKED;

_Static_assert(sizeof(struct v3_header) == 40, "v3 header");
_Static_assert(offsetof(struct v3_header, digest) == 16, "v3 digest");
_Static_assert(sizeof(struct v3_table) == 48, "v3 table");
_Static_assert(offsetof(struct v3_table, rows_offset) == 40, "v3 rows");
_Static_assert(sizeof(struct v3_backend) == 20, "v3 backend");
_Static_assert(sizeof(struct v3_bind) == 24, "v3 bind");
_Static_assert(sizeof(struct v3_extension) == 8, "v3 extension");
_Static_assert(sizeof(struct v3_quic) == 20, "v3 quic");
_Static_assert(sizeof(struct v3_server_id) == 16, "v3 server ID");
_Static_assert(sizeof(struct v3_past) == 16, "v3 past");
_Static_assert(sizeof(struct v3_past_backend) == 4, "v3 past backend");
