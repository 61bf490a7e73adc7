/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of JSON tables (docs/reference/table-json.md), from the document down. Constant data. */
#pragma once

#include "table/file/json/json_reader.h"

extern const struct json_member table_json_document[], table_json_table[], table_json_quic[], table_json_bind[],
	table_json_backend[];

/* `healthchecks` of a backend, and of a table or the document. */
extern const struct json_member table_json_checks[], table_json_defaults[];
