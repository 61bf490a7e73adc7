/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the rows in which each backend of a table is first hop, second hop, and so on. Pure, but allocates memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

struct shares {
	uint32_t *counts; /* [backend * row_hops + hop]: number of rows; owned */
	unsigned row_hops;
	uint32_t used; /* number of backends that are good, or are first hop of at least one row */
	/* The largest number of first hops of a backend, divided by its fair share: that of its weight among the used
	 * ones. */
	double imbalance;
	bool weighted; /* the used backends have different weights */
};

/*
 * Fills *shares. In a table of version 2, a row with only one hop repeats this hop. Such a repetition does
 * not count.
 */
void shares_count_rows(struct shares *shares, const struct table *table);
void shares_free(struct shares *shares);

/* Returns the number of rows in which the backend is hop `hop` (from 0). shares_percent(): in percent of all rows. */
static inline uint32_t shares_count(const struct shares *shares, uint32_t backend, unsigned hop)
{
	return shares->counts[backend * shares->row_hops + hop];
}

static inline double shares_percent(const struct shares *shares, uint32_t backend, unsigned hop)
{
	return 100.0 * shares_count(shares, backend, hop) / TABLE_ROWS;
}
