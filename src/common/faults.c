/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/faults.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"

/* Takes ownership of text. NULL: there was no memory for it. */
static void keep(struct faults *faults, bool warning, char *text)
{
	struct fault *fault = text ? array_append(&faults->items, &faults->count, sizeof(*fault)) : NULL;

	faults->errors += !warning;
	if (fault) {
		*fault = (struct fault){.warning = warning, .text = text};
		return;
	}
	free(text);
	faults->out_of_memory = true;
}

/* Returns "FILE:LINE:COLUMN: WHERE: WHAT", or NULL: out of memory. */
static char *join(const char *file, const struct faults_place *place, const char *what)
{
	const char *where = place->where ? place->where : "";
	char line[16] = "", column[16] = "", *text;

	if (place->line)
		snprintf(line, sizeof(line), "%s%d", file ? ":" : "", place->line);
	if (place->has_column)
		snprintf(column, sizeof(column), ":%d", place->column);
	if (asprintf(&text, "%s%s%s%s%s%s%s", file ? file : "", line, column, file || place->line ? ": " : "", where,
		    *where ? ": " : "", what) < 0)
		return NULL;
	return text;
}

void faults_add(struct faults *faults, bool warning, const struct faults_place *place, const char *format, va_list args)
{
	struct faults_place at = *place;
	char *what;

	if (vasprintf(&what, format, args) < 0) {
		keep(faults, warning, NULL);
		return;
	}
	if (faults->locate && !at.line && at.where)
		faults->locate(faults->locate_context, &at);
	keep(faults, warning, join(at.file ? at.file : faults->file, &at, what));
	free(what);
}

void faults_error(struct faults *faults, const char *where, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	faults_add(faults, false, &(struct faults_place){.where = where}, format, args);
	va_end(args);
}

void faults_warn(struct faults *faults, const char *where, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	faults_add(faults, true, &(struct faults_place){.where = where}, format, args);
	va_end(args);
}

void faults_error_at(struct faults *faults, const struct faults_place *place, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	faults_add(faults, false, place, format, args);
	va_end(args);
}

const char *faults_first_error(const struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		if (!faults->items[i].warning)
			return faults->items[i].text;
	return faults->errors ? "out of memory" : "";
}

static void report_kind(const struct faults *faults, bool warning, faults_sink *sink, void *context)
{
	for (size_t i = 0; i < faults->count; i++)
		if (faults->items[i].warning == warning)
			sink(context, warning, faults->items[i].text);
}

void faults_report(const struct faults *faults, enum faults_kinds kinds, faults_sink *sink, void *context)
{
	if (kinds & FAULTS_ERRORS)
		report_kind(faults, false, sink, context);
	if (kinds & FAULTS_WARNINGS)
		report_kind(faults, true, sink, context);
	if (faults->out_of_memory && (kinds & FAULTS_ERRORS))
		sink(context, false, "out of memory: some faults are not listed");
}

void faults_clear(struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		free(faults->items[i].text);
	free(faults->items);
	*faults = (struct faults){.file = faults->file, .thorough = faults->thorough};
}
