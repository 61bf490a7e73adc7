/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "cli/alloc.h"
#include "table/file/json/json_past.h"
#include "table/table_past.h"

/* The same as table_past_of(), but exits if memory is out. */
static inline void past_of_table(const struct table *table, bool with_health, struct table_past *state)
{
	if (!table_past_of(table, with_health, state))
		alloc_failed();
}
