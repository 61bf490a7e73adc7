/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of others, before it is kept or shown: UTF-8 without control characters. Pure, thread-safe. */
#ifndef GLB_COMMON_TEXT_H
#define GLB_COMMON_TEXT_H

#include <stddef.h>

/* Bytes of the character that begins at `at`, with `left` of them there; 0: not UTF-8, cut off, or a control character. */
size_t text_character(const char *at, size_t left);

/* Puts '?' for every byte that belongs to none. */
void text_mend(char *text);

#endif
