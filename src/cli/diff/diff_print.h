/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the differences of two table sets for people and as JSON. One thread. */
#ifndef GLB_CLI_DIFF_DIFF_PRINT_H
#define GLB_CLI_DIFF_DIFF_PRINT_H

#include <jansson.h>

#include "cli/diff/table_diff.h"

void diff_print(const struct table_set_diff *diff);

/* Returns the JSON output of `diff`; the caller owns it. */
json_t *diff_describe(const struct table_set_diff *diff);

/* Returns a share such as "16.69%", in buf or static. "0.00%" means none of `whole`, and "100.00%" all of it. */
const char *diff_percent_text(uint32_t part, uint32_t whole, char buf[16]);

#endif
