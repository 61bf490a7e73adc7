/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts files of GitHub's GLB Director. migrate.c reads the file, finds its kind, checks and writes the result. Each
 * kind has a converter in a file of its own. Only for migrate*.c. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "common/faults.h"
#include "table/file/json/json_reader.h"

/* A file that is being converted. */
struct migration {
	const char *text; /* of the file, with a NUL after it; borrowed */
	size_t size; /* of the text, in bytes */
	json_t *root; /* the parsed text, which a converter may change; NULL: not JSON */
	bool names; /* the user wants names for tables that have none */
	FILE *to; /* the result */
	struct faults errors; /* why the file cannot be converted */
	struct faults notes; /* what the user must know; all are warnings */
};

struct migrate_kind {
	const char *name;
	/* Returns true if the content is of this kind. */
	bool (*matches)(const struct migration *migration);
	void (*convert)(struct migration *migration);
	/* Reads a file with the result as its program does, and adds the errors. */
	void (*read)(const char *path, struct faults *faults);
	bool keeps_notes; /* the result ends with the notes, as comments that begin with # */
};

extern const struct migrate_kind migrate_table, migrate_director, migrate_healthcheck, migrate_environment;

/* Writes a JSON string or number, true or false in libconfig's syntax. Adds an error about `where` for other values. */
void migrate_put_value(struct migration *migration, const char *where, const json_t *value);

/* Writes a JSON value on one line for a note. It is cut if it is long. Returns buf. */
const char *migrate_value_text(const json_t *value, char buf[JSON_READER_TEXT_MAX]);

/* Adds a note about each member of the object that is not in `known`, which ends with NULL. `where` is the object's
 * path. */
void migrate_note_unknown(struct migration *migration, const char *where, json_t *object, const char *const *known);
