/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the packets that were forwarded to each backend as first hop: one row per worker, and a row for what earlier forwarding tables had
 * counted for the same backends. A worker writes only its own row, with plain stores. The control thread makes the counts for a
 * new table and writes the row of the earlier ones. Any thread that may read the forwarding table may add the rows up.
 */
#ifndef GLB_WORKER_BACKEND_COUNTS_H
#define GLB_WORKER_BACKEND_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/routes.h"

struct backend_counts {
	uint64_t *rows; /* packets;  [0]: earlier tables, [1 + w]: worker w; each has `stride` counts, by index in routes->addresses */
	size_t stride; /* a multiple of a cache line */
	unsigned workers;
	void *memory; /* owned */
};

/* False: out of memory. The caller frees *counts with backend_counts_free(). */
bool backend_counts_alloc(struct backend_counts *counts, const struct routes *routes, unsigned workers);
void backend_counts_free(struct backend_counts *counts);

/* Returns the row of a worker. */
static inline uint64_t *backend_counts_row(const struct backend_counts *counts, unsigned worker)
{
	return counts->rows + (1 + worker) * counts->stride;
}

/* Returns the sum of all rows. index: in routes->addresses. */
uint64_t backend_counts_sum(const struct backend_counts *counts, uint32_t index);

/*
 * Makes the backends of table `to` of `routes` go on with the sums that the same addresses have in table `from` of
 * `old_routes`. May be called again, when the old sums have grown. If there is no memory to do it, they start at 0.
 */
void backend_counts_carry(struct backend_counts *counts, const struct routes *routes, uint32_t to,
	const struct backend_counts *old, const struct routes *old_routes, uint32_t from);

#endif
