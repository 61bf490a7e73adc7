/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of others as JSON, which is UTF-8: messages, paths, what commands print. */
#ifndef GLB_TABLE_JSON_TEXT_H
#define GLB_TABLE_JSON_TEXT_H

#include <jansson.h>

/* A string, mended (common/text.h) where it is not UTF-8. NULL: out of memory. */
json_t *json_text(const char *text);

#endif
