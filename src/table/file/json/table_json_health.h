/* SPDX-License-Identifier: BSD-3-Clause */
/* The members `healthchecks` of a JSON table. Only for table_json.c. */
#pragma once

#include "health/settings.h"
#include "table/file/json/table_json_members.h"
#include "table/file/table_health.h"

/* The members of `healthchecks` of a backend, and of a table or the document. */
extern const struct json_member table_json_checks[], table_json_defaults[];

/* For `read` of `healthchecks`: the field is the struct table_health_defaults of a table or the document, or the struct
 * check_targets of a backend. The caller frees what it owns, also if there are faults. */
void table_json_read_defaults(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);
void table_json_read_checks(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);

/* Adds an error for each backend whose settings contradict each other. */
void table_json_health_lint(const struct table_health *health, struct faults *faults);
