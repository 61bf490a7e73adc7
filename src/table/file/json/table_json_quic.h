/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the members `quic` and `server_id` of JSON tables (docs/reference/table-json.md#quic). */
#pragma once

#include "quic/quic.h"
#include "table/file/json/json_reader.h"

/* For `read` of members: the field is a struct table, and the server IDs of a backend. */
void table_json_read_quic(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);
void table_json_read_server_id(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);

#define SERVER_ID_TEXT_MAX 80

/* Writes server IDs as JSON text: a string, an array of two, or null. Returns buf. */
const char *server_id_text(const struct quic_server_id ids[QUIC_MAX_SERVER_IDS], char buf[SERVER_ID_TEXT_MAX]);

/* Reads a secret of 16 bytes into the field. */
void table_json_read_key(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);
