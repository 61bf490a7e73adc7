/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/script_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

void script_error(struct faults *faults, int line, const char *format, ...)
{
	const struct faults_place place = {.line = line};
	va_list args;

	va_start(args, format);
	faults_add(faults, false, &place, format, args);
	va_end(args);
}

int script_cut(char *line, char *words[], int max)
{
	int count = 0;

	line[strcspn(line, "#")] = '\0';
	for (char *word; count < max && (word = strsep(&line, " \t\r"));)
		if (*word)
			words[count++] = word;
	return count;
}

char *script_join(char *const words[], int count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (int i = 0; out && i < count; i++)
		fprintf(out, "%s%s", i ? " " : "", words[i]);
	if (out)
		fclose(out);
	return text;
}

static bool parse_range(const char *text, uint32_t max, struct script_proxies *range)
{
	*range = (struct script_proxies){0};
	if (strcmp(text, "all") == 0)
		return true;
	if (strchr(text, '.'))
		return netaddr_parse(text, &range->addr) && range->addr.family == NETADDR_V4;
	if (!text_take_number(&text, 1, max, &range->first))
		return false;
	range->last = range->first;
	if (*text == '-' && !text_number(text + 1, range->first, max, &range->last))
		return false;
	return *text == '\0' || *text == '-';
}

struct script_proxies *script_ranges(char *text, uint32_t max, size_t *count, const char **bad)
{
	struct script_proxies *ranges = calloc(strlen(text) / 2 + 1, sizeof(*ranges));

	*bad = NULL;
	*count = 0;
	for (char *part; ranges && (part = strsep(&text, ","));) {
		if (parse_range(part, max, &ranges[*count])) {
			++*count;
			continue;
		}
		*bad = part;
		free(ranges);
		return NULL;
	}
	return ranges;
}
