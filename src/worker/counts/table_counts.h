/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of the backends and binds of a forwarding table. worker/counts/count_rows.h says who owns and
 * writes it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/routes.h"
#include "worker/counts/count_rows.h"

/* The counts of each backend, by index in routes->addresses. */
enum backend_count {
	BACKEND_TALLY, /* packets with this backend as first hop and their bytes, see tally_add() */
	BACKEND_PACKETS, /* of the tally, when it was last settled */
	BACKEND_BYTES, /* with the outer headers */
	BACKEND_NO_NEXT_HOP, /* packets that were dropped, because no next hop to the backend is known */
	BACKEND_COUNTS,
};

/* The counts of each bind, by table_counts_bind(). Both are estimated from samples. */
enum bind_count {
	BIND_PACKETS, /* forwarded packets whose first bind is this one */
	BIND_BYTES, /* of these packets with their outer headers */
	BIND_COUNTS,
};

/* Packets that were forwarded, and their bytes with the outer headers. */
struct forwarded {
	uint64_t packets, bytes;
};

struct table_counts {
	struct count_rows backends, binds;
	uint32_t first_bind[TABLE_MAX_TABLES]; /* index in `binds` of the first bind of each table */
	struct forwarded gone[TABLE_MAX_TABLES]; /* of backends that earlier tables had */
};

/* False: out of memory. The caller frees *counts with table_counts_free() in either case. */
bool table_counts_alloc(struct table_counts *counts, const struct routes *routes, unsigned workers);
void table_counts_free(struct table_counts *counts);

/* The index of a bind in `binds`. */
static inline uint32_t table_counts_bind(const struct table_counts *counts, uint32_t table, uint32_t bind)
{
	return counts->first_bind[table] + bind;
}

/*
 * A tally is packets * 2^40 + bytes, modulo 2^64: one addition for each packet in place of two. It overflows, so its
 * worker settles it again and again: it brings BACKEND_PACKETS and BACKEND_BYTES up to date, with all their bits. What
 * the tally has more than these is less than 2^24 packets and less than 2^40 bytes.
 */
#define TALLY_PACKET (UINT64_C(1) << 40)

/* The tallies of all backends are settled once in this number of packets, each of which counts once on average. */
#define SETTLE_PACKETS (1u << 22)

/* Which tallies a worker settles next. */
struct settler {
	uint32_t next; /* backend */
	uint64_t due; /* backends that are due, times SETTLE_PACKETS */
};

/* Counts a packet. Called by the owner of the tally. size: bytes, less than 2^16. weight: how often the
 * packet counts. */
static inline void tally_add(uint64_t *tally, uint32_t size, uint64_t weight)
{
	__atomic_store_n(tally, *tally + (TALLY_PACKET + size) * weight, __ATOMIC_RELAXED);
}

/* Settles the tallies that are due after `packets` more packets, in turn. Called by the worker, which still uses the
 * table. */
void table_counts_settle(const struct table_counts *counts, const struct routes *routes, unsigned worker,
	struct settler *settler, uint32_t packets);

/* Returns what all workers have counted for a backend. index: in routes->addresses. Workers may count and settle
 * meanwhile. */
struct forwarded table_counts_backend(const struct table_counts *counts, size_t index);

/* Returns what all workers have counted for a table, and for the tables before it that table_counts_carry() knew. */
struct forwarded table_counts_table(const struct table_counts *counts, const struct routes *routes, uint32_t table);

/*
 * Makes table `to` of `routes` go on with what table `from` of `old_routes` has counted, and its backends and binds
 * with what the same addresses and the same binds have. May be called again, when the old counts have grown. If there
 * is no memory to do it, they start at 0.
 */
void table_counts_carry(struct table_counts *counts, const struct routes *routes, uint32_t to,
	const struct table_counts *old, const struct routes *old_routes, uint32_t from);
