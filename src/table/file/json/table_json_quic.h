/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the members `quic` and `server_id` of JSON tables (docs/reference/table-json.md#quic). */
#pragma once

#include "table/file/json/json_reader.h"

/* For `read` of members: the field is a struct table, and the server IDs of a backend. */
void table_json_read_quic(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);
void table_json_read_server_id(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);

/* Reads a secret of 16 bytes into the field. */
void table_json_read_key(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);
