/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A list of the errors and warnings found in one input file. Each is one line of text that names the file, the place
 * and the value. Library code adds to the list; the program prints it. Not thread-safe. The caller owns the list and
 * calls faults_clear().
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct fault {
	bool warning;
	char *text; /* "FILE: PLACE: what is wrong with 'VALUE'", no newline; owned by the list */
};

/* A line of a text file. The fault begins with "FILE:LINE:COLUMN: WHERE: "; parts that are not set are left out. */
struct faults_place {
	const char *file; /* NULL: faults->file */
	int line; /* from 1; 0: not set */
	bool has_column;
	int column;
	const char *where; /* NULL or "": not set */
};

struct faults {
	const char *file; /* prefix of each text; borrowed; NULL: no prefix */
	bool thorough; /* set by the caller: add faults that only `glb-director-cli check` reports */
	/* Sets line and column of a place from its `where`, if the place has no line. NULL: places without a line stay
	 * so. */
	void (*locate)(void *context, struct faults_place *place);
	void *locate_context; /* borrowed */
	struct fault *items;
	size_t count; /* of items */
	size_t errors; /* all errors, also those without an item */
	bool out_of_memory; /* some faults have no item */
};

/* Add "FILE: WHERE: TEXT". WHERE is a JSON path, a configuration key or "byte 42"; NULL or "" means the whole file. */
void faults_error(struct faults *faults, const char *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void faults_warn(struct faults *faults, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Add an error at a place; an error or a warning from a va_list. */
void faults_error_at(struct faults *faults, const struct faults_place *place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void faults_add(struct faults *faults, bool warning, const struct faults_place *place, const char *format, va_list args)
	__attribute__((format(printf, 4, 0)));

/* Returns the text of the first error, "" if there is no error. Valid until the list changes. */
const char *faults_first_error(const struct faults *faults);

enum faults_kinds {
	FAULTS_ERRORS = 1,
	FAULTS_WARNINGS = 2,
	FAULTS_ALL = FAULTS_ERRORS | FAULTS_WARNINGS,
};

/* Receives one fault, and the context that was passed to faults_report(). */
typedef void faults_sink(void *context, bool warning, const char *text);

/* Calls the sink for each fault of these kinds: errors first, then warnings, then an error if some have no item. */
void faults_report(const struct faults *faults, enum faults_kinds kinds, faults_sink *sink, void *context);

/* Frees the texts. The list is then empty and can be used again; `file` and `thorough` stay. */
void faults_clear(struct faults *faults);
