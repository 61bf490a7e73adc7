/* SPDX-License-Identifier: BSD-3-Clause */
/* What the backends and binds of a forwarding table have counted. worker/count_rows.h says who owns and writes it. */
#ifndef GLB_WORKER_TABLE_COUNTS_H
#define GLB_WORKER_TABLE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/routes.h"
#include "worker/count_rows.h"

/* The counts of each backend, by index in routes->addresses. */
enum backend_count {
	BACKEND_FORWARDED, /* packets with this backend as first hop */
	BACKEND_BYTES, /* of the packets in BACKEND_FORWARDED with their outer headers, estimated from samples */
	BACKEND_NO_NEXT_HOP, /* packets that were dropped, because no next hop to the backend is known */
	BACKEND_COUNTS,
};

/* The counts of each bind, by table_counts_bind(). Both are estimated from samples. */
enum bind_count {
	BIND_PACKETS, /* forwarded packets whose first bind is this one */
	BIND_BYTES, /* of these packets with their outer headers */
	BIND_COUNTS,
};

struct table_counts {
	struct count_rows backends, binds;
	uint32_t first_bind[TABLE_MAX_TABLES]; /* index in `binds` of the first bind of each table */
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
 * Makes the backends and binds of table `to` of `routes` go on with the sums that the same addresses and the same binds have
 * in table `from` of `old_routes`. May be called again, when the old sums have grown. If there is no memory to do it,
 * they start at 0.
 */
void table_counts_carry(struct table_counts *counts, const struct routes *routes, uint32_t to,
	const struct table_counts *old, const struct routes *old_routes, uint32_t from);

#endif
