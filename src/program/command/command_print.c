/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "program/command.h"

/* Counts the characters of UTF-8, which have one column each. */
static unsigned columns_of(const char *text, size_t size)
{
	unsigned columns = 0;

	for (size_t i = 0; i < size; i++)
		columns += (text[i] & 0xc0) != 0x80;
	return columns;
}

void command_vprint(unsigned indent, const char *format, va_list args)
{
	unsigned column = 0;
	char *text;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	else
		text_mend(text); /* a part of it may come from a stranger */
	for (const char *at = text; at && *at;) {
		size_t gap = strspn(at, " "), word = strcspn(at + gap, " ");
		unsigned width = (unsigned)gap + columns_of(at + gap, word);

		if (column > indent && column + width > COMMAND_COLUMNS) {
			printf("\n%*s%.*s", (int)indent, "", (int)word, at + gap);
			column = indent + width - (unsigned)gap;
		} else {
			printf("%.*s", (int)(gap + word), at);
			column += width;
		}
		at += gap + word;
	}
	putchar('\n');
	free(text);
}

void command_print(unsigned indent, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	command_vprint(indent, format, args);
	va_end(args);
}
