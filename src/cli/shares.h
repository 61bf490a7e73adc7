/* SPDX-License-Identifier: BSD-3-Clause */
/* How the backends of a table share its rows. */
#ifndef GLB_CLI_SHARES_H
#define GLB_CLI_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

struct shares {
	uint32_t *counts; /* backend * row_hops + hop: rows that have it there; owned */
	unsigned row_hops;
	uint32_t taking; /* backends that are good, or first hop of some row */
	double imbalance; /* most first hops of a backend / mean over the taking ones */
};

/* The rows of hop `hop` that repeat the first hop (version 2's way to say none) do not count.
 * False: out of memory. */
bool shares_count_rows(struct shares *shares, const struct table *table);
void shares_free(struct shares *shares);

static inline uint32_t shares_count(const struct shares *shares, uint32_t backend, unsigned hop)
{
	return shares->counts[backend * shares->row_hops + hop];
}

static inline double shares_percent(const struct shares *shares, uint32_t backend, unsigned hop)
{
	return 100.0 * shares_count(shares, backend, hop) / TABLE_ROWS;
}

#endif
