/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads `balance` and `previous` of JSON tables (docs/reference/table-json.md) for table_json. Not thread-safe. */
#ifndef GLB_TABLE_FILE_JSON_TABLE_JSON_PAST_H
#define GLB_TABLE_FILE_JSON_TABLE_JSON_PAST_H

#include <jansson.h>

#include "table/file/json/json_reader.h"
#include "table/table.h"

/* Stores the value in thousandths. */
void table_json_balance(struct json_reader *reader, const json_t *value, uint16_t *balance);

/* Sets past_count and past of a table that has none. After an error it sets what table_set_free() can free. */
void table_json_previous(struct json_reader *reader, const json_t *value, struct table *table);

#endif
