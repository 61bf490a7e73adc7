/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names, for people, the properties of a forwarding table that make packets slower
 * (docs/explanation/performance.md#what-tables-cost). Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/faults.h"
#include "packet/classifier/portmap.h"
#include "table/table.h"

/* More prefix lengths of a family than these are worth a warning. */
#define SLOW_LENGTHS 8

/* "32 24 16": room for all lengths of IPv6. */
#define SLOW_LENGTHS_TEXT 512

/*
 * Adds a warning for each cause: many prefix lengths, binds without room in the port maps, and rows of more than two
 * hops that have an address twice. portmap: of the set. Rows may be missing.
 */
void slow_warn(const struct table_set *set, const struct portmap *portmap, struct faults *faults);

/* Adds a warning for each table that is slower if alt_hash_fields is set. Rows may be missing. */
void slow_warn_alt(const struct table_set *set, struct faults *faults);

/* Writes the prefix lengths that binds of a family have, longest first, separated by spaces. Returns their number. */
unsigned slow_lengths(const struct portmap *portmap, uint8_t family, char text[SLOW_LENGTHS_TEXT]);
