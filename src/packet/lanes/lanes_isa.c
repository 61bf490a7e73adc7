/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled once, beside the variants of lanes.c. */
#include "packet/lanes/lanes.h"

lanes_fn *const lanes_by_isa[ISA_COUNT] = ISA_VARIANTS(lanes);
