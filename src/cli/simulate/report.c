/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "common/text.h"
#include "table/file/json/json_text.h"

void report_free(struct report *report)
{
	free(report->steps);
	*report = (struct report){0};
}

static const struct report_step *last_step(const struct report *report)
{
	return &report->steps[report->count - 1];
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static double all_broken(const struct report_step *step)
{
	return step->totals.removed + step->totals.pushed_out + step->totals.skew;
}

double report_broken_percent(const struct report *report)
{
	return percent(all_broken(last_step(report)), last_step(report)->totals.begun);
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* The largest of all steps. */
static double most_imbalance(const struct report *report)
{
	double most = 0;

	for (size_t i = 0; i < report->count; i++)
		most = larger(most, report->steps[i].imbalance);
	return most;
}

static double most_blocked_percent(const struct report *report)
{
	double most = 0;

	for (size_t i = 0; i < report->count; i++)
		most = larger(most, percent(report->steps[i].now.blocked, report->steps[i].now.alive));
	return most;
}

#define TIME_TEXT_MAX 32

/* Writes "30s", "10m05s" or "2d03h00m". Returns buf. */
static const char *time_text(int64_t ms, char buf[TIME_TEXT_MAX])
{
	int64_t seconds = ms / 1000, minutes = seconds / 60, hours = minutes / 60;

	if (ms % 1000 && seconds < 60)
		snprintf(buf, TIME_TEXT_MAX, "%" PRId64 ".%03ds", seconds, (int)(ms % 1000));
	else if (minutes < 1)
		snprintf(buf, TIME_TEXT_MAX, "%" PRId64 "s", seconds);
	else if (hours < 1)
		snprintf(buf, TIME_TEXT_MAX, "%" PRId64 "m%02ds", minutes, (int)(seconds % 60));
	else if (hours < 24)
		snprintf(buf, TIME_TEXT_MAX, "%" PRId64 "h%02dm%02ds", hours, (int)(minutes % 60), (int)(seconds % 60));
	else
		snprintf(buf, TIME_TEXT_MAX, "%" PRId64 "d%02dh%02dm", hours / 24, (int)(hours % 24),
			(int)(minutes % 60));
	return buf;
}

static void print_step(const struct report_step *step, const struct report_step *before)
{
	char time[TIME_TEXT_MAX];

	printf("%8s %9.0f %8.0f %8.0f %6.2f%% %9.3f %5.1f%%  ", time_text(step->time_ms, time), step->now.alive,
		before ? all_broken(step) - all_broken(before) : 0,
		before ? step->totals.killed - before->totals.killed : 0, percent(step->moved_rows, TABLE_ROWS),
		step->imbalance, percent(step->now.alive - step->now.hops[0], step->now.alive));
	puts(step->step ? step->step->text : "start");
}

static void print_hops(const struct report_step *end)
{
	char text[TABLE_MAX_HOPS * 32], *at = text;

	for (unsigned i = 0; i < end->row_hops; i++)
		at += sprintf(at, "%s %u: %.3f %%", i ? "," : "", i + 1, percent(end->now.hops[i], end->now.alive));
	command_print(2, "packets accepted at hop%s, at the end", text);
}

static void print_summary(const struct report *report)
{
	const struct report_step *end = last_step(report);
	double begun = end->totals.begun;

	command_print(2, "%.0f connections: %.0f broken (%.3f %%), %.0f killed with a proxy (%.3f %%)", begun,
		all_broken(end), report_broken_percent(report), end->totals.killed, percent(end->totals.killed, begun));
	if (all_broken(end) > 0)
		command_print(2,
			"broken by: proxies removed %.3f %%, proxies pushed out of rows %.3f %%, directors that use another table %.3f %%",
			percent(end->totals.removed, begun), percent(end->totals.pushed_out, begun),
			percent(end->totals.skew, begun));
	if (end->totals.refused > 0)
		command_print(2, "%.0f new connections were sent to a dead proxy", end->totals.refused);
	if (most_blocked_percent(report) > 0)
		command_print(2,
			"up to %.3f %% of the connections waited behind a dead proxy, which cannot pass packets on",
			most_blocked_percent(report));
	command_print(2, "imbalance of first hops: %.3f at most", most_imbalance(report));
	print_hops(end);
}

int report_print(const struct report *report)
{
	printf("%8s %9s %8s %8s %7s %9s %6s  %s\n", "time", "alive", "broken", "killed", "moved", "imbalance", "later",
		"change");
	for (size_t i = 0; i < report->count; i++)
		print_step(&report->steps[i], i ? &report->steps[i - 1] : NULL);
	putchar('\n');
	print_summary(report);
	return COMMAND_OK;
}

/* A number with 6 decimals. */
static json_t *number(double value)
{
	return json_real(floor(value * 1e6 + 0.5) / 1e6);
}

static json_t *step_json(const struct report_step *step)
{
	json_t *hops = json_array();

	for (unsigned i = 0; i < step->row_hops; i++)
		json_array_append_new(hops, number(percent(step->now.hops[i], step->now.alive)));
	return json_pack("{s:i, s:s?, s:I, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o}", "line",
		step->step ? step->step->line : 0, "command", step->step ? step->step->text : NULL, "time_ms",
		(json_int_t)step->time_ms, "proxies", (int)step->proxies, "alive", number(step->now.alive), "begun",
		number(step->totals.begun), "broken", number(all_broken(step)), "skew", number(step->totals.skew),
		"killed", number(step->totals.killed), "refused", number(step->totals.refused), "moved_rows",
		(int)step->moved_rows, "imbalance", number(step->imbalance), "hop_percent", hops, "blocked_percent",
		number(percent(step->now.blocked, step->now.alive)), "skew_percent", number(step->now.skew_percent));
}

int report_print_json(const struct report *report)
{
	const struct report_step *end = last_step(report);
	double begun = end->totals.begun;
	json_t *steps = json_array();

	for (size_t i = 0; i < report->count; i++)
		json_array_append_new(steps, step_json(&report->steps[i]));
	return cli_print_json(json_pack("{s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o, s:o, s:o, s:o}", "script",
		json_text(report->script), "begun", number(begun), "broken_percent", number(report_broken_percent(report)),
		"broken_by", "removed", number(percent(end->totals.removed, begun)), "pushed_out",
		number(percent(end->totals.pushed_out, begun)), "skew", number(percent(end->totals.skew, begun)),
		"killed_percent", number(percent(end->totals.killed, begun)), "refused", number(end->totals.refused),
		"imbalance", number(most_imbalance(report)), "steps", steps));
}
