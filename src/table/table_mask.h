/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of tables, by their index. The owner of the struct owns everything. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

struct table_mask {
	uint64_t words[TABLE_MAX_TABLES / 64];
};

_Static_assert(TABLE_MAX_TABLES % 64 == 0, "a mask has whole words");

static inline void table_mask_add(struct table_mask *mask, uint32_t table)
{
	mask->words[table / 64] |= (uint64_t)1 << table % 64;
}

static inline bool table_mask_has(const struct table_mask *mask, uint32_t table)
{
	return mask->words[table / 64] >> table % 64 & 1;
}

static inline void table_mask_merge(struct table_mask *mask, const struct table_mask *other)
{
	for (unsigned i = 0; i < TABLE_MAX_TABLES / 64; i++)
		mask->words[i] |= other->words[i];
}

/* Returns the first table of the mask that is not less than `from`, or TABLE_MAX_TABLES. */
static inline uint32_t table_mask_next(const struct table_mask *mask, uint32_t from)
{
	for (uint32_t i = from / 64; i < TABLE_MAX_TABLES / 64; i++) {
		uint64_t word = mask->words[i] & (i == from / 64 ? UINT64_MAX << from % 64 : UINT64_MAX);

		if (word)
			return i * 64 + (uint32_t)__builtin_ctzll(word);
	}
	return TABLE_MAX_TABLES;
}

static inline bool table_mask_any(const struct table_mask *mask)
{
	return table_mask_next(mask, 0) < TABLE_MAX_TABLES;
}
