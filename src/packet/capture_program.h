/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the program of a capture's filter before workers run it with libpcap. bpf_validate() is not enough: in user
 * space it accepts jumps backwards, which may never end, and instructions at which libpcap aborts. Pure.
 */
#pragma once

#include <stdint.h>

#include "packet/capture_messages.h"

/*
 * Returns NULL if the program has only known instructions, touches only its 16 words of memory, jumps only forward and
 * not over its end, and ends with a return. So each instruction runs at most once. Otherwise returns what is wrong: "it
 * jumps backwards".
 */
const char *capture_program_check(const struct capture_instruction *program, uint32_t size);
