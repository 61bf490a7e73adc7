/* SPDX-License-Identifier: BSD-3-Clause */
/* Text from outside: numbers, and UTF-8 without control characters before it is kept or shown. Pure, thread-safe. */
#ifndef GLB_COMMON_TEXT_H
#define GLB_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that begins at `at`, with `left` of them there; 0: not UTF-8, cut off, or a control character. */
size_t text_character(const char *at, size_t left);

/* Puts '?' for every byte that belongs to none. */
void text_mend(char *text);

/* Decimal digits and nothing else, from 0 to max. False leaves *number alone. */
bool text_number(const char *text, uint32_t max, uint32_t *number);

#endif
