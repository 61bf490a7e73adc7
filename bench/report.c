/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_version.h>

#define NOISY_RATIO 1.15 /* of the median to p10 */
#define RESOLUTION  0.3 /* cycles or ms that say nothing, as with `io` */

static FILE *json_file;
static bool json_begun;
static unsigned figures, noisy_figures, repeated, never_quiet, left_out;

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

void report_summarise(struct report_line *line, double *samples, unsigned count)
{
	qsort(samples, count, sizeof(*samples), compare);
	line->p10 = samples[(count - 1) / 10];
	line->median = samples[(count - 1) / 2];
	line->noisy = line->median > NOISY_RATIO * line->p10 + RESOLUTION;
}

#define CPU_VALUE 128

/* Writes a value of the first CPU in /proc/cpuinfo, up to a character that JSON would have to quote. Returns value. */
static const char *cpu_value(const char *key, char value[CPU_VALUE])
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	size_t size = strlen(key);
	char line[256];

	strcpy(value, "unknown");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, key, size) == 0 && sscanf(line + size, " : %127[^\n\"\\]", value) == 1)
			break;
	if (file)
		fclose(file);
	return value;
}

static const char *const cpu_keys[] = {"vendor_id", "cpu family", "model", "stepping", "microcode"};

#define CPU_KEYS (sizeof(cpu_keys) / sizeof(*cpu_keys))

void report_machine(void)
{
	char value[CPU_VALUE];

	printf("%s", cpu_value("model name", value));
	for (unsigned i = 0; i < CPU_KEYS; i++)
		printf(", %s %s", cpu_keys[i], cpu_value(cpu_keys[i], value));
	printf(", TSC %.2f GHz\n", (double)rte_get_tsc_hz() / 1e9);
}

static void record_machine(void)
{
	char value[CPU_VALUE];

	fprintf(json_file,
		"\n{\"path\": \"machine\", \"what\": \"%s\", \"how\": \"%s, %s\", \"set\": \"\", "
		"\"family\": \"\", \"tables\": 0, \"binds\": 0, \"hops\": 0, \"backends\": 0, "
		"\"burst\": 0, \"lcores\": %u, \"unit\": \"GHz of the TSC\", \"p10\": %.3f, "
		"\"median\": %.3f, \"noisy\": false, \"cpu\": {",
		cpu_value("model name", value),
#ifdef __clang__
		__VERSION__,
#else
		"gcc " __VERSION__,
#endif
		rte_version(), rte_lcore_count(), (double)rte_get_tsc_hz() / 1e9, (double)rte_get_tsc_hz() / 1e9);
	for (unsigned i = 0; i < CPU_KEYS; i++)
		fprintf(json_file, "%s\"%s\": \"%s\"", i ? ", " : "", cpu_keys[i], cpu_value(cpu_keys[i], value));
	fputs("}}", json_file);
	json_begun = true;
}

void report_open(const char *json)
{
	if (!json)
		return;
	json_file = fopen(json, "we");
	if (!json_file) {
		fprintf(stderr, "%s: %s\n", json, strerror(errno));
		exit(EXIT_FAILURE);
	}
	fputs("[", json_file);
	record_machine();
}

static void record(const struct report_line *line)
{
	figures++;
	noisy_figures += line->noisy;
	if (!json_file)
		return;
	fprintf(json_file,
		"%s\n{\"path\": \"%s\", \"what\": \"%s\", \"how\": \"%s\", \"set\": \"%s\", "
		"\"family\": \"%s\", \"tables\": %u, \"binds\": %u, \"hops\": %u, "
		"\"backends\": %u, \"burst\": %u, \"lcores\": %u, \"unit\": \"%s\", "
		"\"p10\": %.2f, \"median\": %.2f, \"noisy\": %s, \"attempts\": %u",
		json_begun ? "," : "", line->name, line->what, line->how ? line->how : "", line->set, line->family,
		line->tables, line->binds, line->hops, line->backends, line->burst, line->lcores, line->unit, line->p10,
		line->median, line->noisy ? "true" : "false", line->attempts ? line->attempts : 1);
	if (line->more != 0)
		fprintf(json_file, ", \"more\": %.2f", line->more);
	fputs("}", json_file);
	json_begun = true;
}

/* Returns the p10 of contender `name` on as many lcores as `line`, or 0 if it did not run. */
static double find_p10(const struct report_line *lines, unsigned count, const struct report_line *line, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (lines[i].lcores == line->lcores && strcmp(lines[i].name, name) == 0)
			return lines[i].p10;
	return 0;
}

static void print_ratio(double value, double to)
{
	if (to > 0)
		printf("  %8.2f", value / to);
	else
		printf("  %8s", "");
}

static void print_line(const struct report_line *lines, unsigned count, const struct report_line *line)
{
	double io = find_p10(lines, count, line, "io");

	printf("  %-8s %u  %7.1f  %7.1f", line->name, line->lcores, line->p10, line->median);
	if (io > 0)
		printf("  %7.1f", line->p10 - io);
	else
		printf("  %7s", "");
	print_ratio(line->p10, find_p10(lines, count, line, "floor"));
	print_ratio(line->p10, find_p10(lines, count, line, "scalar"));
	if (strcmp(line->what, lines[0].what) != 0)
		printf("  %s", line->what);
	if (line->more != 0)
		printf("  %+.2f", line->more);
	printf("%s%s%s\n", line->how ? "  " : "", line->how ? line->how : "", line->noisy ? "  noisy" : "");
}

void report_scenario(const struct report_line *lines, unsigned count)
{
	const struct report_line *first = &lines[0];
	bool noisy = false;

	printf("\n%s %s, tables x binds %u x %u, burst %u%s%s: cycles per packet\n"
	       "  name lcores      p10   median     - io   / floor  / scalar\n",
		first->set, first->family, first->tables, first->binds, first->burst, first->what[0] ? ", " : "",
		first->what);
	for (unsigned i = 0; i < count; i++) {
		print_line(lines, count, &lines[i]);
		record(&lines[i]);
		noisy |= lines[i].noisy;
	}
	if (first->attempts > 1)
		printf("  measured %u times: %s\n", first->attempts,
			noisy ? "never quiet, these are the figures of the quietest attempt"
			      : "something disturbed the others");
	repeated += first->attempts > 1;
	never_quiet += noisy;
	fflush(stdout);
}

void report_figure(const struct report_line *line)
{
	printf("%s%s%s, %u x %u backends, %u binds, %u lcores: p10 %.2f, median %.2f %s%s\n", line->name,
		line->what[0] ? ", " : "", line->what, line->tables, line->backends, line->binds, line->lcores,
		line->p10, line->median, line->unit, line->noisy ? "  noisy" : "");
	fflush(stdout);
	record(line);
}

void report_left_out(void)
{
	left_out++;
}

bool report_close(void)
{
	if (left_out)
		printf("%u figures are missing, because the time limit was reached: the machine is busy\n", left_out);
	printf("%u scenarios were measured again because something disturbed them; %u were never quiet\n", repeated,
		never_quiet);
	if (noisy_figures)
		printf("%u of %u figures are noisy (median far above p10): something else ran on this machine\n",
			noisy_figures, figures);
	if (!json_file)
		return true;
	fputs("\n]\n", json_file);
	return fclose(json_file) == 0;
}
