/* SPDX-License-Identifier: BSD-3-Clause */
#include "faults.h"

#include <stdarg.h>
#include <stdlib.h>

static char *join(const char *file, const char *where, const char *what)
{
	const char *file_sep = file ? ": " : "";
	const char *where_sep = where && *where ? ": " : "";
	char *text;

	if (asprintf(&text, "%s%s%s%s%s", file ? file : "", file_sep, where ? where : "", where_sep,
		    what) < 0)
		return NULL;
	return text;
}

static void add(struct faults *faults, bool warning, const char *where, const char *format, va_list args)
	__attribute__((format(printf, 4, 0)));

static void add(struct faults *faults, bool warning, const char *where, const char *format, va_list args)
{
	char *what = NULL, *text = NULL;
	struct fault *items;

	if (!warning)
		faults->errors++;
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	if (what)
		text = join(faults->file, where, what);
	free(what);
	items = text ? realloc(faults->items, (faults->count + 1) * sizeof(*items)) : NULL;
	if (!items) {
		free(text);
		faults->out_of_memory = true;
		return;
	}
	faults->items = items;
	faults->items[faults->count++] = (struct fault){.warning = warning, .text = text};
}

void faults_error(struct faults *faults, const char *where, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(faults, false, where, format, args);
	va_end(args);
}

void faults_warn(struct faults *faults, const char *where, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(faults, true, where, format, args);
	va_end(args);
}

const char *faults_first_error(const struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		if (!faults->items[i].warning)
			return faults->items[i].text;
	return faults->errors ? "out of memory" : "";
}

static void print_kind(const struct faults *faults, FILE *to, bool warning)
{
	for (size_t i = 0; i < faults->count; i++)
		if (faults->items[i].warning == warning)
			fprintf(to, "%s: %s\n", warning ? "warning" : "error", faults->items[i].text);
}

void faults_print(const struct faults *faults, FILE *to)
{
	print_kind(faults, to, false);
	print_kind(faults, to, true);
	if (faults->out_of_memory)
		fputs("error: out of memory: some faults are not listed\n", to);
}

void faults_clear(struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		free(faults->items[i].text);
	free(faults->items);
	*faults = (struct faults){.file = faults->file};
}
