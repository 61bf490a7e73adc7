/* SPDX-License-Identifier: BSD-3-Clause */
/* Which binds lose ports or protocols when another set takes the place of theirs, for table_guard. Pure. */
#pragma once

#include <stdbool.h>

#include "table/table.h"

/*
 * Sets lost[i] for bind i of the old set, counted over all tables, to true if a packet that it matches is matched by no
 * bind of the new set. Takes O(n log n) for n binds of both sets; what would take longer stays false. 0 or -ENOMEM.
 */
int table_bind_ports_lost(const struct table_set *old, const struct table_set *new, bool *lost);
