/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/html/html.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/text.h"

#define UNKNOWN "<span class=\"zero\" title=\"not known yet\">–</span>"

void html_text(FILE *to, const char *text)
{
	size_t left = text ? strlen(text) : 0;

	while (left) {
		size_t size = text_character(text, left);

		if (!size)
			fputs("\uFFFD", to);
		else if (*text == '&')
			fputs("&amp;", to);
		else if (*text == '<')
			fputs("&lt;", to);
		else if (*text == '>')
			fputs("&gt;", to);
		else if (*text == '"')
			fputs("&quot;", to);
		else if (*text == '\'')
			fputs("&#39;", to);
		else
			fwrite(text, 1, size, to);
		size += !size;
		text += size;
		left -= size;
	}
}

void html_state(FILE *to, enum html_state state, const char *text)
{
	static const char *const classes[] = {"ok", "warn", "bad", "idle"};

	fprintf(to, "<span class=\"%s\">", classes[state]);
	html_text(to, text);
	fputs("</span>", to);
}

/* Three digits and the prefix of the unit. */
static void print_scaled(FILE *to, double value, const char *unit)
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
	unsigned prefix = 0;

	/* 999.5 would be printed as 1000. */
	for (; value >= 999.5 && prefix < 6; prefix++)
		value /= 1000;
	if (!prefix && value == floor(value))
		fprintf(to, "%.0f", value);
	else
		fprintf(to, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
	if (*unit || prefix)
		fprintf(to, " %s%s", prefixes[prefix], unit);
}

void html_digits(FILE *to, uint64_t value)
{
	fprintf(to, "%" PRIu64, value);
}

void html_number(FILE *to, uint64_t value)
{
	fprintf(to, "<data value=\"%" PRIu64 "\">%" PRIu64 "</data>", value, value);
}

void html_count(FILE *to, uint64_t value)
{
	if (value < 10000) {
		fprintf(to, "<data%s value=\"%" PRIu64 "\">%" PRIu64 "</data>", value ? "" : " class=\"zero\"", value,
			value);
		return;
	}
	fprintf(to, "<data value=\"%" PRIu64 "\" title=\"%" PRIu64 "\">", value, value);
	print_scaled(to, (double)value, "");
	fputs("</data>", to);
}

void html_rate(FILE *to, double value, const char *unit)
{
	if (isnan(value)) {
		fputs(UNKNOWN, to);
		return;
	}
	fprintf(to, "<data%s value=\"%.3f\" title=\"%.1f\">", value > 0 ? "" : " class=\"zero\"", value, value);
	print_scaled(to, value, unit);
	fputs("</data>", to);
}

void html_percent(FILE *to, double ratio)
{
	if (isnan(ratio))
		fputs(UNKNOWN, to);
	else if (ratio > 0 && ratio < 0.0005)
		fprintf(to, "<data value=\"%.9f\" title=\"%.7f %%\">&lt; 0.1 %%</data>", ratio, 100 * ratio);
	else
		fprintf(to, "<data value=\"%.6f\">%.1f %%</data>", ratio, 100 * ratio);
}

void html_seconds(FILE *to, double seconds)
{
	static const struct {
		double below, unit;
		const char *name;
	} units[] = {{0.001, 1e-6, "µs"}, {1, 0.001, "ms"}, {120, 1, "s"}, {7200, 60, "min"}, {172800, 3600, "h"},
		{INFINITY, 86400, "d"}};
	unsigned i = 0;

	if (isnan(seconds)) {
		fputs(UNKNOWN, to);
		return;
	}
	while ((seconds >= units[i].below || seconds == 0) && i < (seconds == 0 ? 2 : 5))
		i++;
	fprintf(to, "<data value=\"%.6f\" title=\"%.6g s\">%.*f %s</data>", seconds, seconds,
		seconds > 0 && seconds < 1 && seconds / units[i].unit < 9.95, seconds / units[i].unit, units[i].name);
}

void html_time(FILE *to, uint64_t unix_s)
{
	time_t at = (time_t)unix_s, now = time(NULL);
	char full[32] = "", shown[32] = "";
	struct tm tm;

	if (!unix_s || !gmtime_r(&at, &tm)) {
		fputs("<span class=\"zero\">–</span>", to);
		return;
	}
	strftime(full, sizeof(full), "%Y-%m-%dT%H:%M:%SZ", &tm);
	strftime(shown, sizeof(shown), at / 86400 == now / 86400 ? "%H:%M:%S" : "%Y-%m-%d %H:%M", &tm);
	fprintf(to, "<time datetime=\"%s\" title=\"%s\">%s</time>", full, full, shown);
}

void html_bar(FILE *to, double ratio, double hot)
{
	double width = isnan(ratio) ? 0 : 72 * (ratio > 1 ? 1 : ratio);

	/* What is not nothing is visible. */
	if (width > 0 && width < 2)
		width = 2;
	fputs("<svg class=\"bar\" viewBox=\"0 0 72 8\" aria-hidden=\"true\"><rect width=\"72\" height=\"8\" rx=\"2\"/>",
		to);
	if (width > 0)
		fprintf(to, "<rect%s width=\"%.0f\" height=\"8\" rx=\"2\"/>", ratio > hot ? " class=\"hot\"" : "", width);
	fputs("</svg>", to);
}

void html_spark(FILE *to, const float *values, unsigned count, unsigned span, bool hot)
{
	float most = 0, top;

	for (unsigned i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	top = hot && most < HTML_SPARK_HOT ? HTML_SPARK_HOT : most;
	fprintf(to,
		"<svg class=\"spark%s\" viewBox=\"0 0 %u 28\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
		hot && most >= HTML_SPARK_HOT ? " hot" : "", span - 1);
	if (count < 2) {
		fputs("no history yet\"></svg>", to);
		return;
	}
	fputs("at most ", to);
	print_scaled(to, most, "");
	fputs(" per second", to);
	if (top > most)
		fprintf(to, ", on a scale to %d", HTML_SPARK_HOT);
	fputs("\"><path d=\"M", to);
	for (unsigned i = 0; i < count; i++) {
		float height = top > 0 ? 26 * values[i] / top : 0;

		/* Every value above 0 must be visible. */
		if (values[i] > 0 && height < 2)
			height = 2;
		fprintf(to, "%s%u %.0f", i ? "L" : "", span - count + i, 27 - height);
	}
	fputs("\"/></svg>", to);
}

void html_strip(FILE *to, const char *results, const char *label)
{
	size_t count = strlen(results);

	fprintf(to, "<svg class=\"strip\" viewBox=\"0 0 %zu 14\" role=\"img\" aria-label=\"", 4 * count);
	html_text(to, label);
	fputs("\"><title>", to);
	html_text(to, label);
	fputs("</title>", to);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && results[end] == results[i]; end++)
			;
		if (results[i] == ' ')
			continue;
		/* Each bar is a dash of a thick line at the bottom. */
		fprintf(to, "<path class=\"%c\" d=\"M%zu %sH%zu\"/>", results[i], 4 * i,
			results[i] == 'f'   ? "7"
			: results[i] == 'p' ? "11"
					    : "12.5",
			4 * end);
	}
	fputs("</svg>", to);
}

static void print_begin(
	FILE *to, const char *program, const char *host, enum html_state state, const char *text, uint64_t since);

#include "program/html/frame_html.h"

void html_begin(FILE *to, const char *program, enum html_state state, const char *text, uint64_t since)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	print_begin(to, program, host, state, text, since);
}

const char html_policy[] = HTML_POLICY_TEXT;
