/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the tables of a running director, which come in pages. If the director reloads its table between two pages, the
 * reading starts again, so that a snapshot never mixes two tables. One thread; blocks.
 */
#pragma once

#include "cli/telemetry.h"
#include "program/member.h"

enum snapshot_parts {
	SNAPSHOT_LIST, /* a line per table */
	SNAPSHOT_ALL, /* with binds and backends, and with the reply of /glb/stats in the member `stats` */
};

/*
 * Returns an object with `generation`, `digest` and `tables`, which the caller frees. `tables` is an array with an
 * object for each table; its `binds` and `backends` are arrays. table: only the table with this name or #INDEX; NULL:
 * all. NULL: an error message was printed.
 */
json_t *snapshot_read(struct telemetry *telemetry, enum snapshot_parts parts, const char *table);

/* Appends the values of a list, which may be an object with numbers as keys. */
void snapshot_append(json_t *to, const json_t *list);

/* Returns the width of a column: that of the longest text that the objects have as this member, and `least` or more. */
int snapshot_width(const json_t *objects, const char *key, int least);

#define SNAPSHOT_BIND_MAX 128

/* Writes a bind of a table in the form that `show` has for files, such as "tcp 10.0.0.1 port 80". Returns buf. */
const char *snapshot_bind(const json_t *bind, char buf[SNAPSHOT_BIND_MAX]);
