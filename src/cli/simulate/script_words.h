/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a line of a script: numbers, times and ranges. Pure, but script_ranges() and script_join() allocate. */
#ifndef GLB_CLI_SIMULATE_SCRIPT_WORDS_H
#define GLB_CLI_SIMULATE_SCRIPT_WORDS_H

#include "cli/simulate/script.h"

/* Cuts the words of a line, without its comment. Returns their number, at most `max`. */
int script_cut(char *line, char *words[], int max);

/* Returns the words with one space between them; the caller frees it. NULL: out of memory. */
char *script_join(char *const words[], int count);

/*
 * Parses numbers and ranges from 1 to max, and addresses, with commas between them; or "all". Returns *count ranges,
 * which the caller frees; or NULL and the wrong part in *bad, which the text owns; *bad is NULL if memory is out.
 * Changes the text.
 */
struct script_proxies *script_ranges(char *text, uint32_t max, size_t *count, const char **bad);

#endif
