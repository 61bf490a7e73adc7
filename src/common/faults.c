/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/faults.h"

#include <stdarg.h>
#include <stdlib.h>

/* "FILE: WHERE: WHAT", without the parts that are NULL or empty. */
static char *join(const char *file, const char *where, const char *what)
{
	const char *file_sep = file ? ": " : "";
	const char *where_sep = where && *where ? ": " : "";
	char *text;

	if (asprintf(&text, "%s%s%s%s%s", file ? file : "", file_sep, where ? where : "", where_sep, what) < 0)
		return NULL;
	return text;
}

/* Takes text, which may be NULL. */
static void add(struct faults *faults, bool warning, char *text)
{
	struct fault *items;

	if (!warning)
		faults->errors++;
	items = text ? realloc(faults->items, (faults->count + 1) * sizeof(*items)) : NULL;
	if (!items) {
		free(text);
		faults->out_of_memory = true;
		return;
	}
	faults->items = items;
	faults->items[faults->count++] = (struct fault){.warning = warning, .text = text};
}

static char *compose(const char *file, const char *where, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static char *compose(const char *file, const char *where, const char *format, va_list args)
{
	char *what, *text;

	if (vasprintf(&what, format, args) < 0)
		return NULL;
	text = join(file, where, what);
	free(what);
	return text;
}

void faults_error(struct faults *faults, const char *where, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(faults, false, compose(faults->file, where, format, args));
	va_end(args);
}

void faults_warn(struct faults *faults, const char *where, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(faults, true, compose(faults->file, where, format, args));
	va_end(args);
}

void faults_error_at(struct faults *faults, int line, int column, const char *format, ...)
{
	char *file;
	va_list args;

	if (asprintf(&file, "%s%s%d:%d", faults->file ? faults->file : "", faults->file ? ":" : "", line, column) < 0) {
		add(faults, false, NULL);
		return;
	}
	va_start(args, format);
	add(faults, false, compose(file, NULL, format, args));
	va_end(args);
	free(file);
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
	*faults = (struct faults){.file = faults->file, .strict = faults->strict};
}
