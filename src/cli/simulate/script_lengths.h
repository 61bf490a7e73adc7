/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GLB_CLI_SIMULATE_SCRIPT_LENGTHS_H
#define GLB_CLI_SIMULATE_SCRIPT_LENGTHS_H

#include "cli/simulate/lengths.h"

/* Parses the words after `lengths`. Returns NULL, or what is wrong; then *lengths may have changed. */
const char *script_lengths(struct lengths *lengths, char *const words[], int count);

#endif
