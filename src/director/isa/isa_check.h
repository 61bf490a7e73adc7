/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that the fast path gives the same results on each ISA: the director's own pipeline works on packets in memory.
 * Needs no port, no hugepages and no table of the operator.
 */
#pragma once

#include "packet/lanes/lanes.h"

/*
 * variants: as lanes_by_isa. set: bits 1 << isa of those to check. Returns the set of those whose results are not the
 * ones of ISA_PLAIN. It is empty if there is no memory for the check.
 */
unsigned isa_check(lanes_fn *const variants[ISA_COUNT], unsigned set);
