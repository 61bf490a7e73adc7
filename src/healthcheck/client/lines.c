/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/client/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

/* Returns the size of the start of the text that fits into `room` columns. Breaks at a space, if there is one. */
static size_t take_line(const char *text, int room)
{
	size_t size = 0, space = 0;

	for (; text[size]; room--) {
		if (room == 0)
			return space ? space : size;
		size += text_character(text + size, strlen(text + size));
		if (text[size] == ' ' && text[size - 1] != ' ')
			space = size;
	}
	return size;
}

void lines_print(int indent, const char *format, ...)
{
	char *text;
	const char *at;
	int before = 0, size;
	va_list args;

	va_start(args, format);
	size = vasprintf(&text, format, args);
	va_end(args);
	if (size < 0)
		return;
	text_mend(text);
	at = text;
	do {
		size_t line = take_line(at, LINES_COLUMNS - before);

		printf("%*s%.*s\n", before, "", (int)line, at);
		at += line;
		at += strspn(at, " ");
		before = indent;
	} while (*at);
	free(text);
}
