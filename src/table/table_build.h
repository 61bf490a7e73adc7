/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills the rows of tables by rendezvous hashing (Thaler, Ravishankar 1998) with SipHash, as
 * docs/reference/table-rows.md says. Pure: depends on nothing but the table; byte-identical on every
 * machine and with any number of threads.
 */
#ifndef GLB_TABLE_TABLE_BUILD_H
#define GLB_TABLE_TABLE_BUILD_H

#include "table/table.h"

/*
 * Sets row_hops and rows of every table. 0; or -ENOMEM, or -EINVAL where a table has no backend that
 * is not inactive, and then nothing has changed.
 */
int table_build(struct table_set *set);

/*
 * The same in up to so many threads, the caller's among them. They inherit its affinity and end
 * before this returns.
 */
#define TABLE_BUILD_MAX_THREADS 8
int table_build_threads(struct table_set *set, unsigned threads);

#endif
