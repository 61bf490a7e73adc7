/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ISA makes rows. All hosts of a service must have the same rows, and the emulator of qemu 7.2, for instance,
 * computes wrong results with AVX2. So the results of an ISA are compared with those of plain C, once per process.
 * Pure, thread-safe.
 */
#pragma once

#include "table/rows/table_rows.h"

/* Returns the widest usable ISA whose rows and scores are right. */
enum isa table_rows_isa(void);

/* True if these give the same rows and scores as the plain variants, for a few rows. */
bool table_rows_same_as_plain(table_rows_fn *fill, table_scores_fn *score);
