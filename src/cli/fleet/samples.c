/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/fleet/samples.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/text.h"

static bool has_name(const char *line, const char *name)
{
	size_t size = strlen(name);

	return strncmp(line, name, size) == 0 && (line[size] == '{' || line[size] == ' ');
}

static bool is_wanted(const struct samples *samples, const char *line)
{
	for (const char *const *name = samples->wanted; *name; name++)
		if (has_name(line, *name))
			return true;
	return false;
}

static void keep(struct samples *samples)
{
	char *line = samples->count < SAMPLES_MAX ? strdup(samples->line) : NULL;
	char **at = line ? array_append(&samples->lines, &samples->count, sizeof(line)) : NULL;

	if (!at) {
		free(line);
		samples->left_out++;
		return;
	}
	text_mend(line);
	*at = line;
}

static void end_line(struct samples *samples)
{
	samples->line[samples->used] = '\0';
	if (!samples->too_long && strlen(samples->line) == samples->used && is_wanted(samples, samples->line))
		keep(samples);
	samples->used = 0;
	samples->too_long = false;
}

void samples_feed(struct samples *samples, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] == '\n')
			end_line(samples);
		else if (samples->used < SAMPLES_LINE_MAX - 1)
			samples->line[samples->used++] = bytes[i];
		else
			samples->too_long = true;
}

void samples_free(struct samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		free(samples->lines[i]);
	free(samples->lines);
	*samples = (struct samples){.wanted = samples->wanted};
}

const char *samples_next(const struct samples *samples, const char *name, size_t *at)
{
	while (*at < samples->count) {
		const char *line = samples->lines[(*at)++];

		if (has_name(line, name))
			return line;
	}
	return NULL;
}

/* Copies a value up to its closing quote, without the backslashes that protect characters. Returns what follows it. */
static const char *copy_value(const char *from, char value[SAMPLES_LABEL_MAX])
{
	size_t used = 0;

	for (; *from && *from != '"'; from++) {
		from += *from == '\\' && from[1];
		if (used < SAMPLES_LABEL_MAX - 1)
			value[used++] = *from;
	}
	value[used] = '\0';
	text_mend(value); /* a character may be cut */
	return *from ? from + 1 : from;
}

bool samples_label(const char *sample, const char *label, char value[SAMPLES_LABEL_MAX])
{
	const char *at = strchr(sample, '{');
	size_t size = strlen(label);

	while (at && *at && *at != '}') {
		const char *name = ++at;

		at = strstr(name, "=\"");
		if (!at)
			break;
		bool found = (size_t)(at - name) == size && strncmp(name, label, size) == 0;

		at = copy_value(at + 2, value);
		if (found)
			return true;
	}
	value[0] = '\0';
	return false;
}

double samples_value(const char *sample)
{
	const char *last = strrchr(sample, ' ');

	return last ? strtod(last + 1, NULL) : 0;
}

bool samples_count(const char *sample, uint64_t *count)
{
	const char *last = strrchr(sample, ' '), *at = last ? last + 1 : sample;
	uint64_t value = 0;
	unsigned digits = 0;

	for (; last && *at >= '0' && *at <= '9' && digits < SAMPLES_MAX_DIGITS; at++, digits++)
		value = 10 * value + (uint64_t)(*at - '0');
	if (!digits || *at)
		return false;
	*count = value;
	return true;
}
