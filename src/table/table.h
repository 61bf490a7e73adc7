/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding tables in memory, wherever they came from: JSON (table_json), a binary file
 * (table_file), with rows once they are built (table_build). A set owns everything below it;
 * table_set_free() frees it all. Immutable once filled, so it may then be read by any thread.
 * Limits and meaning: docs/reference/table-json.md.
 */
#ifndef GLB_TABLE_TABLE_H
#define GLB_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"
#include "common/siphash.h"

#define TABLE_ROWS         65536
#define TABLE_MAX_TABLES   64
#define TABLE_MAX_BACKENDS 4096
#define TABLE_MAX_BINDS    4096
#define TABLE_MAX_NAME     255 /* bytes */
#define TABLE_MIN_HOPS     2
#define TABLE_MAX_HOPS     4
#define TABLE_DEFAULT_HOPS 2

/* The first three are the values of binary files; version 2 says draining for inactive. */
enum table_state {
	TABLE_FILLING = 0,
	TABLE_ACTIVE = 1,
	TABLE_DRAINING = 2,
	TABLE_INACTIVE = 3,
};

enum table_protocol {
	TABLE_TCP = 6,
	TABLE_UDP = 17,
};

struct table_backend {
	struct netaddr addr;
	uint8_t state; /* enum table_state */
	bool healthy;
};

struct table_bind {
	struct netprefix prefix;
	uint16_t port_start, port_end; /* inclusive, host order */
	uint8_t protocol; /* enum table_protocol */
};

struct table {
	char *name; /* NULL where the file has none (version 2) */
	uint8_t hash_key[SIPHASH_KEY_SIZE];
	uint8_t seed[SIPHASH_KEY_SIZE]; /* only in JSON; zero otherwise */
	uint8_t hops; /* what was asked for, 2..4; row_hops where the file does not say */
	uint32_t backend_count;
	struct table_backend *backends;
	uint32_t bind_count;
	struct table_bind *binds;
	/*
	 * rows[row * row_hops + i] is the backend index of hop i, or of the first hop again where
	 * version 2 says so; TABLE_ROWS * row_hops entries. NULL before the rows are built.
	 */
	uint8_t row_hops;
	uint16_t *rows;
};

struct table_set {
	uint32_t count;
	struct table *tables;
};

/* Frees all; *set is empty and usable again. */
void table_set_free(struct table_set *set);

/* 1 to TABLE_MAX_NAME bytes of UTF-8 without control characters. */
bool table_name_is_valid(const char *name, size_t size);

/* "tcp", "udp"; "filling", "active", "draining", "inactive". */
const char *table_protocol_name(uint8_t protocol);
const char *table_state_name(uint8_t state);

/* Good: takes new connections (active or filling, and healthy). */
static inline bool table_backend_is_good(const struct table_backend *backend)
{
	return backend->healthy && (backend->state == TABLE_ACTIVE || backend->state == TABLE_FILLING);
}

/* The name, or "#INDEX" in buf where it has none. */
const char *table_label(const struct table_set *set, uint32_t index, char buf[16]);

/*
 * A digest of all that steers packets (hash keys, binds, hop addresses of every row): equal for
 * equal routes, whatever the file's version or names. Every table must have rows.
 */
uint64_t table_set_digest(const struct table_set *set);

#endif
