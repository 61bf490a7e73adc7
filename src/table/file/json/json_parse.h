/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses JSON, and notices if memory runs out. Thread-safe. */
#ifndef GLB_TABLE_FILE_JSON_JSON_PARSE_H
#define GLB_TABLE_FILE_JSON_JSON_PARSE_H

#include <jansson.h>
#include <stddef.h>

#include "common/faults.h"

/* Parses a document without duplicate keys, which the caller releases. Or sets *root to NULL, adds an error, and
 * returns -EINVAL: it is not JSON, or -ENOMEM. */
int json_parse(const char *text, size_t size, json_t **root, struct faults *faults);

#endif
