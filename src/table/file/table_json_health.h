/* SPDX-License-Identifier: BSD-3-Clause */
/* The members `healthchecks` of a JSON table. Only for table_json.c. */
#ifndef GLB_TABLE_FILE_TABLE_JSON_HEALTH_H
#define GLB_TABLE_FILE_TABLE_JSON_HEALTH_H

#include "healthcheck/config/settings.h"
#include "table/file/json_reader.h"

/* `healthchecks` of the file or of a table. Faults go to the reader; *timing is valid only if there are none. */
void table_json_health_timing(struct json_reader *reader, json_t *value, struct check_timing *timing);

/* `healthchecks` of a backend. The caller frees http_uri, also if there are faults. */
void table_json_health_targets(struct json_reader *reader, json_t *value, struct check_targets *targets);

#endif
