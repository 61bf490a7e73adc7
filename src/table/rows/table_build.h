/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills the rows of tables by rendezvous hashing (Thaler, Ravishankar 1998) with SipHash. docs/reference/table-rows.md
 * specifies it. The result depends on the table only: it is the same on every machine and with any number of threads.
 */
#pragma once

#include "table/table.h"
#include "table/table_mask.h"

#define TABLE_BUILD_MAX_THREADS 8

/*
 * Sets row_hops and rows of every table, with at most `threads` threads including the caller. The others inherit the
 * caller's CPU affinity and end before this returns. Returns 0; or -ENOMEM; or -EINVAL: all backends of a table are
 * inactive. If it fails, the set is unchanged.
 */
int table_build(struct table_set *set, unsigned threads);

/* The same for these tables and those that share their rows. The others have none afterwards. */
int table_build_some(struct table_set *set, const struct table_mask *some, unsigned threads);
