/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the ISA of the fast path when the director starts. Main thread, after EAL has started and before
 * ports have. */
#pragma once

#include "director/isa/isa_choice.h"

/*
 * Logs the choice. Also raises EAL's limit of the SIMD width, for the drivers, if the choice is wider and no EAL option
 * sets the limit. 0, or -EINVAL after logging why director.conf's ISA cannot be used.
 */
int isa_start(enum conf_isa wanted, struct isa_choice *choice);
