/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the packets and bytes of each backend as first hop: one row per worker, and a row for what earlier forwarding tables had
 * counted for the same backends. A worker writes only its own row, with plain stores. The control thread makes the counts for a
 * new table and writes the row of the earlier ones. Any thread that may read the forwarding table may add the rows up.
 */
#ifndef GLB_WORKER_BACKEND_COUNTS_H
#define GLB_WORKER_BACKEND_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/routes.h"

/* The counts of each backend. */
enum backend_count {
	BACKEND_FORWARDED, /* packets */
	BACKEND_BYTES, /* of the packets in BACKEND_FORWARDED with their outer headers, estimated from samples */
	BACKEND_NO_NEXT_HOP, /* packets that were dropped, because no next hop to the backend is known */
	BACKEND_COUNTS,
};

struct backend_counts {
	/*
	 * For each enum backend_count, a row of earlier tables and then one of each worker. A row has `stride` counts,
	 * by index in routes->addresses.
	 */
	uint64_t *rows;
	size_t stride; /* a multiple of a cache line */
	unsigned workers;
	void *memory; /* owned */
};

/* False: out of memory. The caller frees *counts with backend_counts_free(). */
bool backend_counts_alloc(struct backend_counts *counts, const struct routes *routes, unsigned workers);
void backend_counts_free(struct backend_counts *counts);

/* Returns the row of a worker. */
static inline uint64_t *backend_counts_row(const struct backend_counts *counts, enum backend_count what, unsigned worker)
{
	return counts->rows + (what * (counts->workers + 1) + 1 + worker) * counts->stride;
}

/* Returns the sum of all rows. index: in routes->addresses. */
uint64_t backend_counts_sum(const struct backend_counts *counts, enum backend_count what, uint32_t index);

/*
 * Makes the backends of table `to` of `routes` go on with the sums that the same addresses have in table `from` of
 * `old_routes`. May be called again, when the old sums have grown. If there is no memory to do it, they start at 0.
 */
void backend_counts_carry(struct backend_counts *counts, const struct routes *routes, uint32_t to,
	const struct backend_counts *old, const struct routes *old_routes, uint32_t from);

#endif
