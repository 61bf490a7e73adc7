/* SPDX-License-Identifier: BSD-3-Clause */
/* Which binds lose packets to earlier ones, for table_lint's warnings. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

/* Two binds that share addresses, protocol and ports. The winner gets the packets that match both. */
struct table_overlap {
	uint32_t loser_table, loser_bind;
	uint32_t winner_table, winner_bind;
};

/*
 * Lists each bind that loses packets to an earlier bind (one of a lower table, or one before it in its own table) with
 * one of its winners, ordered by loser. Skips binds whose address has no family. Takes O(n log n) for n binds that are
 * nested a few levels deep. 0: *overlaps (malloc'd, the caller frees) and *count are set. Or -ENOMEM.
 */
int table_overlaps(const struct table_set *set, struct table_overlap **overlaps, size_t *count);
