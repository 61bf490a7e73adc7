/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how fast the fast path is on each ISA, and checks that all give the same results: the director's own
 * pipeline works on packets in memory, for a few milliseconds. Needs no port, no hugepages and no table of the
 * operator.
 */
#ifndef GLB_DIRECTOR_ISA_ISA_MEASURE_H
#define GLB_DIRECTOR_ISA_ISA_MEASURE_H

#include "director/isa/isa_choice.h"
#include "packet/lanes/lanes.h"

/*
 * variants: as lanes_by_isa. set: bits 1 << isa of those to measure. ISA_PLAIN always runs, to compare the results.
 * Figures without cycles: out of memory.
 */
struct isa_figures isa_measure(lanes_fn *const variants[ISA_COUNT], unsigned set);

#endif
