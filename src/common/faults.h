/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults found in one input file: every error and warning, each a whole line that names the file,
 * the place and the value. Library code collects, only main prints. Not thread-safe; the caller
 * owns the list and calls faults_clear().
 */
#ifndef GLB_COMMON_FAULTS_H
#define GLB_COMMON_FAULTS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct fault {
	bool warning;
	char *text; /* "FILE: PLACE: what is wrong with 'VALUE'", no newline; owned by the list */
};

struct faults {
	const char *file; /* prefix of each text; borrowed; NULL for none */
	bool strict; /* set by the caller: what the director refuses is an error, not a warning */
	struct fault *items;
	size_t count;
	size_t errors;
	bool out_of_memory; /* some text could not be kept; counted in errors all the same */
};

/* where: JSON path, configuration key or "byte 42"; NULL or "" where the whole file is meant. */
void faults_error(struct faults *faults, const char *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void faults_warn(struct faults *faults, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A place in a text: the fault begins with "FILE:LINE:COLUMN: WHERE: ", without what is missing. */
struct faults_place {
	const char *file; /* NULL: faults->file */
	int line; /* 0: none */
	bool has_column;
	int column;
	const char *where;
};

void faults_error_at(struct faults *faults, const struct faults_place *place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void faults_add(struct faults *faults, bool warning, const struct faults_place *place, const char *format, va_list args)
	__attribute__((format(printf, 4, 0)));

/* The text of the first error, "" where there is none. Borrowed until faults_clear(). */
const char *faults_first_error(const struct faults *faults);

enum faults_kinds {
	FAULTS_ERRORS = 1,
	FAULTS_WARNINGS = 2,
	FAULTS_ALL = FAULTS_ERRORS | FAULTS_WARNINGS,
};

/* Called with one text and the context that faults_report() was given. */
typedef void faults_sink(void *context, bool warning, const char *text);

/* Calls the sink for each fault of these kinds: errors first, then warnings, then an error if memory for some ran out. */
void faults_report(const struct faults *faults, enum faults_kinds kinds, faults_sink *sink, void *context);

/* Reports all, a line each: "error: TEXT", "warning: TEXT". */
void faults_print(const struct faults *faults, FILE *to);

/* Frees the texts. The list is then empty and usable again; `file` and `strict` stay. */
void faults_clear(struct faults *faults);

#endif
