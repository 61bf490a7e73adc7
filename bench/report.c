/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *json_file;
static bool json_begun, any_noisy;

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

double report_percentile(double *samples, unsigned count, unsigned percent)
{
	qsort(samples, count, sizeof(*samples), compare);
	return samples[(count - 1) * percent / 100];
}

void report_open(const char *json)
{
	printf("cycles per packet                             path      p10  median    - io  / "
	       "floor  / scalar\n");
	if (!json)
		return;
	json_file = fopen(json, "we");
	if (!json_file) {
		fprintf(stderr, "%s: %s\n", json, strerror(errno));
		exit(EXIT_FAILURE);
	}
	fputs("[", json_file);
}

static void print_json(const struct report_line *line)
{
	fprintf(json_file,
		"%s\n{\"path\": \"%s\", \"what\": \"%s\", \"set\": \"%s\", \"family\": \"%s\", "
		"\"tables\": %u, \"binds\": %u, \"hops\": %u, \"burst\": %u, \"lcores\": %u, "
		"\"unit\": \"cycles\", \"p10\": %.2f, \"median\": %.2f, \"noisy\": %s}",
		json_begun ? "," : "", line->path, line->what, line->set, line->family,
		line->tables, line->binds, line->hops, line->burst, line->lcores, line->p10,
		line->median, line->noisy ? "true" : "false");
	json_begun = true;
}

/* 0 where there is nothing to compare with. */
static double ratio(double value, double to)
{
	return to > 0 ? value / to : 0;
}

void report_scenario(const struct report_line *lines, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct report_line *line = &lines[i];
		char what[64];

		if (line->p10 == 0) /* not asked for */
			continue;
		snprintf(what, sizeof(what), "%s %s, %u x %u binds, burst %u%s%s", line->set,
			line->family, line->tables, line->binds, line->burst,
			line->what[0] ? ", " : "", line->what);
		printf("%-45s %-7s %6.1f  %6.1f  %6.1f  %7.2f  %8.2f%s\n", i ? "" : what,
			line->path, line->p10, line->median, line->p10 - lines[0].p10,
			ratio(line->p10, lines[2].p10), ratio(line->p10, lines[3].p10),
			line->noisy ? "  noisy" : "");
		any_noisy |= line->noisy;
		if (json_file)
			print_json(line);
	}
	fflush(stdout);
}

void report_build(unsigned backends, double p10, double median)
{
	printf("rows of a table with %4u backends: p10 %.1f ms, median %.1f ms\n", backends, p10,
		median);
	if (!json_file)
		return;
	fprintf(json_file,
		"%s\n{\"path\": \"table_build\", \"backends\": %u, \"lcores\": 1, \"unit\": \"ms\", "
		"\"p10\": %.2f, \"median\": %.2f, \"noisy\": %s}",
		json_begun ? "," : "", backends, p10, median,
		median > 1.25 * p10 ? "true" : "false");
	json_begun = true;
}

bool report_close(void)
{
	if (any_noisy)
		printf("noisy: the median lies far above p10, so something else ran on this CPU\n");
	if (!json_file)
		return true;
	fputs("\n]\n", json_file);
	return fclose(json_file) == 0;
}
