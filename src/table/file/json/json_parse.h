/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses JSON, and notices if memory runs out. Thread-safe. */
#ifndef GLB_TABLE_FILE_JSON_JSON_PARSE_H
#define GLB_TABLE_FILE_JSON_JSON_PARSE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Returns what json_loadb(text, size, JSON_REJECT_DUPLICATES, where) returns, which the caller releases. NULL: `where`
 * says what is wrong, or *out_of_memory is true.
 */
json_t *json_parse(const char *text, size_t size, json_error_t *where, bool *out_of_memory);

#endif
