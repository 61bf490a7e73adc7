/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out which table of a new set replaces which table of the old set. Pure. */
#pragma once

#include "cli/diff/table_diff.h"

/*
 * Pairs the tables of both sets: by name, then by the number of binds that they share, then by hash key, then by index
 * if one of them has no name. Sets the tables, indexes and fates of each pair, in the order of the new set and then for
 * the removed tables. Returns their number. pairs: room for before->count + after->count.
 */
uint32_t table_pairs(const struct table_set *before, const struct table_set *after, const struct bind_diff *binds,
	struct table_diff *pairs);
