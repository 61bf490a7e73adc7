/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding tables in memory. They come from JSON (table_json), and table_build then adds the rows, or from a binary
 * file (table_file), with rows. A set owns everything below it; table_set_free() frees it. Nothing changes a set after
 * it is filled, so any thread may read it. docs/reference/table-json.md describes limits and meaning.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"
#include "common/siphash.h"
#include "quic/quic.h"

#define TABLE_ROWS           65536
#define TABLE_MAX_TABLES     1024
#define TABLE_MAX_BACKENDS   4096
#define TABLE_MAX_BINDS      4096
#define TABLE_MAX_NAME       255 /* bytes */
#define TABLE_MIN_HOPS       2
#define TABLE_MAX_HOPS       8
#define TABLE_DEFAULT_HOPS   2
#define TABLE_MAX_WEIGHT     1000
#define TABLE_DEFAULT_WEIGHT 100
#define TABLE_MIN_BALANCE    1005 /* thousandths */
#define TABLE_MAX_BALANCE    2000
#define TABLE_MAX_PAST       16

/* The values in binary files. Version 2 has no value for inactive, and stores draining instead. */
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
	bool healthy_omitted; /* JSON does not have the member, so `healthy` has its default */
	uint16_t weight; /* 1..TABLE_MAX_WEIGHT; 0: not known, because version 2 does not have it */
	struct quic_server_id server_ids[QUIC_MAX_SERVER_IDS]; /* shortest first; length 0: none, and none follows */
};

struct table_bind {
	struct netprefix prefix;
	uint16_t port_start, port_end; /* inclusive, host order */
	uint8_t protocol; /* enum table_protocol */
	bool quic; /* connection IDs choose the proxy, where they can; only UDP */
};

/* A backend that could be the first hop of a row in a previous state of the table. */
struct table_past_backend {
	struct netaddr addr;
	uint16_t weight; /* 1..TABLE_MAX_WEIGHT */
	bool healthy;
	struct quic_server_id server_ids[QUIC_MAX_SERVER_IDS]; /* as in struct table_backend */
};

/* A previous state of a table: everything that decided who is the first hop. */
struct table_past {
	int64_t time; /* when a newer state replaced this one; Unix seconds, UTC */
	uint16_t balance; /* as in struct table */
	bool by_health; /* glb-healthcheck has added it; only in JSON */
	uint32_t backend_count;
	struct table_past_backend *backends;
};

struct table {
	char *name; /* UTF-8; NULL if the table has no name. Messages call it by table_label(). */
	uint8_t hash_key[SIPHASH_KEY_SIZE];
	uint8_t seed[SIPHASH_KEY_SIZE]; /* of the rows; zero unless read from JSON */
	uint8_t hops; /* configured hops per row, 2..8; TABLE_DEFAULT_HOPS if the file does not have it (version 2) */
	/* A backend is first in at most this many thousandths of its fair share of rows; 0: no limit */
	uint16_t balance;
	uint32_t backend_count;
	struct table_backend *backends;
	uint32_t past_count; /* <= TABLE_MAX_PAST */
	struct table_past *past; /* newest first */
	uint32_t bind_count;
	struct table_bind *binds;
	uint8_t quic_count; /* 0: the table has no QUIC configuration */
	struct quic_config quic[QUIC_MAX_CONFIGS]; /* in the order of the file; secret */
	/*
	 * rows[row * row_hops + i] is the backend index of hop i; TABLE_ROWS * row_hops entries. In a set read from
	 * version 2, a row with only one hop may repeat it. NULL before the rows are built.
	 */
	uint8_t row_hops; /* <= hops; less if the table has too few backends that are not inactive */
	bool borrows_rows; /* an earlier table of the set has the same rows and owns them, see table_share.h */
	uint16_t *rows;
};

struct table_set {
	uint32_t count;
	struct table *tables;
	uint64_t replaces; /* fingerprint of the set that this one may replace without further questions; 0: none */
};

/* Number of binds and backends of all tables. */
struct table_totals {
	uint32_t binds, backends;
};

struct table_totals table_set_totals(const struct table_set *set);

/* Frees everything. *set is then empty and can be used again. */
void table_set_free(struct table_set *set);

/* True: 1 to TABLE_MAX_NAME bytes of UTF-8 without control characters. */
bool table_name_is_valid(const char *name, size_t size);

/* Finds the state with this name. False: there is none. */
bool table_state_parse(const char *name, uint8_t *state);

/* Return "tcp" or "udp"; and "filling", "active", "draining" or "inactive"; else "unknown". */
const char *table_protocol_name(uint8_t protocol);
const char *table_state_name(uint8_t state);

/* Orders by protocol and prefix, so that binds inside a prefix follow those of the prefix. */
int table_bind_compare_prefixes(const struct table_bind *a, const struct table_bind *b);

/* The same, and then by ports, for qsort() and bsearch(). */
int table_bind_compare(const void *a, const void *b);

/* Returns true if the prefix of `inner` is that of `outer` or inside it, for the same protocol. */
static inline bool table_bind_contains(const struct table_bind *outer, const struct table_bind *inner)
{
	return outer->protocol == inner->protocol && outer->prefix.length <= inner->prefix.length &&
	       netprefix_covers(&outer->prefix, &inner->prefix.addr);
}

#define TABLE_BIND_TEXT_MAX (NETPREFIX_TEXT_MAX + 32)

/* Writes "tcp 10.0.0.0/8 port 80-90", or "quic" for the protocol of such a bind. Returns buf. */
const char *table_bind_text(const struct table_bind *bind, char buf[TABLE_BIND_TEXT_MAX]);

/* Parses "off", which is 0, or the limit of a table's balance, such as 1.02, in thousandths. False: *balance is
 * unchanged. */
bool table_parse_balance(const char *text, uint32_t *balance);

#define TABLE_MATCHING_TEXT_MAX 64

/* Writes ", balance 1.02, 3 previous states" for the line of a table; each part only if the table has it.
 * Returns buf. */
const char *table_matching_text(const struct table *table, char buf[TABLE_MATCHING_TEXT_MAX]);

#define TABLE_NONE UINT32_MAX

/* Returns the index of the table of `after` that has the name of table `index` of `before`; TABLE_NONE: there is none,
 * or several tables of one of the sets have this name. */
uint32_t table_namesake(const struct table_set *before, uint32_t index, const struct table_set *after);

/* Returns the indexes of the backends in the order of their addresses; the caller frees it. NULL: out of memory. */
uint32_t *table_backend_order(const struct table *table);

/* Returns the index of the first backend with this address; backend_count: there is none. order: table_backend_order(),
 * or NULL: takes linear time. */
uint32_t table_find_backend(const struct table *table, const uint32_t *order, const struct netaddr *addr);

/* A good backend takes new connections: it is active or filling, and healthy. */
static inline bool table_backend_is_good(const struct table_backend *backend)
{
	return backend->healthy && (backend->state == TABLE_ACTIVE || backend->state == TABLE_FILLING);
}

/* Returns the QUIC configuration with this ID, or NULL: there is none. */
static inline const struct quic_config *table_quic(const struct table *table, uint8_t id)
{
	for (uint32_t i = 0; i < table->quic_count; i++)
		if (table->quic[i].id == id)
			return &table->quic[i];
	return NULL;
}

/* Returns true if a configuration of the table has server IDs of this length. */
static inline bool table_quic_uses(const struct table *table, uint8_t length)
{
	for (uint32_t i = 0; i < table->quic_count; i++)
		if (table->quic[i].server_id_length == length)
			return true;
	return false;
}

/* Returns what became of a QUIC configuration: "added", "removed", "another key" or "other lengths"; NULL: it is the
 * same. A table may be NULL. */
const char *table_quic_change(const struct table *before, const struct table *after, uint8_t id);

/* Returns the server ID of this length, or NULL: there is none. */
static inline const struct quic_server_id *table_server_id(
	const struct quic_server_id ids[QUIC_MAX_SERVER_IDS], uint8_t length)
{
	for (unsigned i = 0; i < QUIC_MAX_SERVER_IDS; i++)
		if (ids[i].length == length)
			return length ? &ids[i] : NULL;
	return NULL;
}

static inline uint32_t table_good_backends(const struct table *table)
{
	uint32_t good = 0;

	for (uint32_t i = 0; i < table->backend_count; i++)
		good += table_backend_is_good(&table->backends[i]);
	return good;
}

/* Backends whose weights are not known count as equal. */
static inline unsigned table_backend_weight(const struct table_backend *backend)
{
	return backend->weight ? backend->weight : TABLE_DEFAULT_WEIGHT;
}

/* Returns true if the table was read from a binary file of version 2, the only one without weights, balance and
 * previous states. */
static inline bool table_is_version_2(const struct table *table)
{
	return table->backend_count && table->backends[0].weight == 0;
}

/* Returns true if rows follow from more than the natural order: the table has a balance or previous states. */
static inline bool table_is_matched(const struct table *table)
{
	return table->balance || table->past_count;
}

/* Returns the table's name, or "#INDEX" in buf if it has no name. */
const char *table_label(const struct table_set *set, uint32_t index, char buf[16]);

/*
 * Returns a digest of everything that steers packets: hash keys, binds, the addresses of every row's hops, and QUIC
 * configurations and server IDs. It does not depend on the file version, on names, or on the order of backends and
 * binds. It depends on the order of the tables, because the first of two overlapping binds wins. Every table must have
 * rows.
 */
uint64_t table_set_digest(const struct table_set *set);

/*
 * Like table_set_digest(), but with the first hop of every row only. It does not depend on previous states, which
 * choose later hops, so it is the same on all directors that see the same health, whatever failures each has seen.
 */
uint64_t table_set_first_hops(const struct table_set *set);

/* Returns a digest of the table's binds, which does not depend on their order. 0: it has none. */
uint64_t table_binds_digest(const struct table *table);

/*
 * Returns a digest of what people write in a table: hash keys, backends, binds and QUIC. It is the same for JSON and
 * both file versions, and does not depend on the order of backends and binds, or on names, states, health or rows. The
 * tables need no rows.
 */
uint64_t table_set_fingerprint(const struct table_set *set);
