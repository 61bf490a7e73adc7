/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/openmetrics.h"

#include <inttypes.h>
#include <string.h>

#include "common/text.h"

static const struct {
	const char *name, *legacy_name, *suffix;
} types[] = {
	[OPENMETRICS_COUNTER] = {"counter", "counter", "_total"},
	[OPENMETRICS_GAUGE] = {"gauge", "gauge", ""},
	[OPENMETRICS_INFO] = {"info", "gauge", "_info"},
	[OPENMETRICS_SUMMARY] = {"summary", "summary", ""},
	[OPENMETRICS_HISTOGRAM] = {"histogram", "histogram", ""},
};

/* Writes a line about the family. In the old format its name is that of its samples. */
static void comment(const struct openmetrics *to, const char *what, const char *text)
{
	const char *suffix = to->format == OPENMETRICS_LEGACY ? types[to->type].suffix : "";

	fprintf(to->to, "# %s %s%s%s ", what, to->prefix, to->family, suffix);
	for (; *text; text++) {
		if (*text == '\\' || (*text == '"' && to->format == OPENMETRICS_1_0))
			putc('\\', to->to);
		putc(*text, to->to);
	}
	putc('\n', to->to);
}

void openmetrics_family(struct openmetrics *to, const char *name, enum openmetrics_type type, const char *help)
{
	to->family = name;
	to->type = type;
	if (to->take)
		return;
	comment(to, "HELP", help);
	comment(to, "TYPE", to->format == OPENMETRICS_LEGACY ? types[type].legacy_name : types[type].name);
}

static void write_value(FILE *to, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		size_t size = text_character(text, left);

		if (*text == '\n')
			fputs("\\n", to);
		else if (!size)
			putc('?', to);
		else if (*text == '"' || *text == '\\')
			fprintf(to, "\\%c", *text);
		else
			fwrite(text, 1, size, to);
		size += !size;
		text += size;
		left -= size;
	}
}

/* Writes all of a sample but its value. `bound` is the label le of a bucket; NULL: none. */
static void begin_sample(
	const struct openmetrics *to, const char *suffix, const struct openmetrics_label *labels, const char *bound)
{
	const char *separator = "{";

	fprintf(to->to, "%s%s%s", to->prefix, to->family, suffix);
	for (; labels->name; labels++) {
		fprintf(to->to, "%s%s=\"", separator, labels->name);
		write_value(to->to, labels->value);
		putc('"', to->to);
		separator = ",";
	}
	if (bound)
		fprintf(to->to, "%sle=\"%s\"}", separator, bound);
	else if (*separator == ',')
		putc('}', to->to);
	putc(' ', to->to);
}

static void pass(const struct openmetrics *to, const struct openmetrics_label *labels, double value)
{
	if (to->type == OPENMETRICS_COUNTER || to->type == OPENMETRICS_GAUGE)
		to->take(to->take_context, to, labels, value);
}

void openmetrics_number(struct openmetrics *to, const struct openmetrics_label *labels, uint64_t value)
{
	if (to->take) {
		pass(to, labels, (double)value);
		return;
	}
	begin_sample(to, types[to->type].suffix, labels, NULL);
	fprintf(to->to, "%" PRIu64 "\n", value);
}

void openmetrics_real(struct openmetrics *to, const struct openmetrics_label *labels, double value)
{
	if (to->take) {
		pass(to, labels, value);
		return;
	}
	begin_sample(to, types[to->type].suffix, labels, NULL);
	fprintf(to->to, "%.15g\n", value);
}

void openmetrics_info(struct openmetrics *to, const struct openmetrics_label *labels)
{
	openmetrics_number(to, labels, 1);
}

/* Writes the samples that a summary and a histogram have. */
static void write_sum(const struct openmetrics *to, const struct openmetrics_label *labels, uint64_t count, double sum)
{
	begin_sample(to, "_count", labels, NULL);
	fprintf(to->to, "%" PRIu64 "\n", count);
	begin_sample(to, "_sum", labels, NULL);
	fprintf(to->to, "%.15g\n", sum);
}

void openmetrics_summary(struct openmetrics *to, const struct openmetrics_label *labels, uint64_t count, double sum)
{
	if (!to->take)
		write_sum(to, labels, count, sum);
}

/* OpenMetrics wants a bound to look like a real number: 1.0, not 1. */
static void format_bound(double bound, char text[32])
{
	snprintf(text, 32, "%.15g", bound);
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
}

void openmetrics_histogram(struct openmetrics *to, const struct openmetrics_label *labels, const double *bounds,
	const uint64_t *counts, unsigned size, double sum)
{
	uint64_t total = 0;

	if (to->take)
		return;
	for (unsigned i = 0; i <= size; i++) {
		char bound[32] = "+Inf";

		if (i < size)
			format_bound(bounds[i], bound);
		total += counts[i];
		begin_sample(to, "_bucket", labels, bound);
		fprintf(to->to, "%" PRIu64 "\n", total);
	}
	write_sum(to, labels, total, sum);
}

void openmetrics_counter(struct openmetrics *to, const char *name, const char *help, uint64_t value)
{
	openmetrics_family(to, name, OPENMETRICS_COUNTER, help);
	openmetrics_number(to, OPENMETRICS_NO_LABELS, value);
}

void openmetrics_gauge(struct openmetrics *to, const char *name, const char *help, uint64_t value)
{
	openmetrics_family(to, name, OPENMETRICS_GAUGE, help);
	openmetrics_number(to, OPENMETRICS_NO_LABELS, value);
}

void openmetrics_end(struct openmetrics *to)
{
	if (to->format == OPENMETRICS_1_0 && !to->take)
		fputs("# EOF\n", to->to);
}
