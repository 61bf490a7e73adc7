/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills the rows of tables by rendezvous hashing (Thaler, Ravishankar 1998) with SipHash, as
 * formats.md section 3 says. Pure: depends on nothing but the table; byte-identical on every
 * machine.
 */
#ifndef GLB_TABLE_TABLE_BUILD_H
#define GLB_TABLE_TABLE_BUILD_H

#include "table/table.h"

/*
 * Sets row_hops and rows of every table. 0, or -ENOMEM (tables already built keep their rows), or
 * -EINVAL where a table has no backend that is not inactive.
 */
int table_build(struct table_set *set);

#endif
