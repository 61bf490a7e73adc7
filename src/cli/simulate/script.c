/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "common/text.h"
#include "table/table.h"

#define DEFAULT_MEAN_MS 30000
#define DEFAULT_RATE    1000
#define MAX_WORDS       (2 * LENGTHS_MAX_POINTS + 8)

void script_error(struct faults *faults, int line, const char *format, ...)
{
	const struct faults_place place = {.line = line};
	va_list args;

	va_start(args, format);
	faults_add(faults, false, &place, format, args);
	va_end(args);
}

/* Cuts the words of a line, without its comment. Returns their number, at most `max`. */
static int cut(char *line, char *words[], int max)
{
	int count = 0;

	line[strcspn(line, "#")] = '\0';
	for (char *word; count < max && (word = strsep(&line, " \t\r"));)
		if (*word)
			words[count++] = word;
	return count;
}

/* Returns the words with one space between them; the caller frees it. */
static char *join(char *const words[], int count)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		alloc_failed();
	for (int i = 0; i < count; i++)
		fprintf(out, "%s%s", i ? " " : "", words[i]);
	if (fclose(out) != 0)
		alloc_failed();
	return text;
}

static bool parse_range(const char *text, uint32_t max, struct script_proxies *range)
{
	*range = (struct script_proxies){0};
	if (strcmp(text, "all") == 0)
		return true;
	if (strpbrk(text, ".:"))
		return netaddr_parse(text, &range->addr);
	if (!text_take_number(&text, 1, max, &range->first))
		return false;
	range->last = range->first;
	if (*text == '-' && !text_number(text + 1, range->first, max, &range->last))
		return false;
	return *text == '\0' || *text == '-';
}

/*
 * Parses numbers and ranges from 1 to max, and addresses, with commas between them; or "all". Fills *ranges, which the
 * caller frees. Returns NULL, or the wrong part, which the text owns. Changes the text.
 */
static const char *parse_ranges(char *text, uint32_t max, struct script_proxies **ranges, size_t *count)
{
	*ranges = alloc_zeroed(strlen(text) / 2 + 1, sizeof(**ranges));
	*count = 0;
	for (char *part; (part = strsep(&text, ","));)
		if (!parse_range(part, max, &(*ranges)[(*count)++]))
			return part;
	return NULL;
}

/* The line that is being parsed. */
struct line {
	struct script *script;
	struct faults *faults;
	int number;
	char *words[MAX_WORDS];
	int count; /* of words, with the command */
};

static bool wrong(const struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(const struct line *line, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	script_error(line->faults, line->number, "%s: %s", line->words[0], text);
	return false;
}

static bool take_time(const struct line *line, const char *word, int64_t *ms)
{
	if (text_duration_ms(word, LENGTHS_MAX_MS, ms))
		return true;
	return wrong(line, "'%s' is not a time of at most 100 years, such as 500ms, 30s, 10m, 2h or 7d", word);
}

static bool set_lengths(const struct line *line)
{
	const char *problem = lengths_parse(&line->script->lengths, line->words + 1, line->count - 1);

	return problem ? wrong(line, "%s", problem) : true;
}

static bool set_rate(const struct line *line)
{
	if (line->count == 2 && text_number(line->words[1], 1, UINT32_MAX, &line->script->rate))
		return true;
	return wrong(line, "expected a number of new connections a second, from 1 to %u", UINT32_MAX);
}

static bool set_directors(const struct line *line)
{
	if (line->count == 2 && text_number(line->words[1], 1, SCRIPT_MAX_DIRECTORS, &line->script->directors))
		return true;
	return wrong(line, "expected a number of directors, from 1 to %u", SCRIPT_MAX_DIRECTORS);
}

static bool set_behind(const struct line *line)
{
	struct script *script = line->script;
	struct script_proxies *ranges = NULL;
	const char *bad;
	size_t count = 0;
	int64_t ms;

	if (line->count != 3)
		return wrong(line, "expected numbers of directors and a time, such as behind 1-4 30s");
	if (!take_time(line, line->words[2], &ms))
		return false;
	bad = line->words[1];
	if (!strpbrk(bad, ".:")) /* no addresses */
		bad = parse_ranges(line->words[1], script->directors, &ranges, &count);
	for (size_t i = 0; !bad && i < count; i++)
		for (uint32_t each = ranges[i].first ? ranges[i].first : 1;
			each <= (ranges[i].first ? ranges[i].last : script->directors); each++)
			script->behind_ms[each - 1] = ms;
	free(ranges);
	return !bad || wrong(line, "'%s' are not numbers of directors from 1 to %u", bad, script->directors);
}

static const struct {
	const char *name;
	bool (*set)(const struct line *line);
} settings[] = {
	{"lengths", set_lengths},
	{"rate", set_rate},
	{"directors", set_directors},
	{"behind", set_behind},
};

static bool take_proxies(const struct line *line, struct script_step *step)
{
	const char *bad;

	if (line->count < 2)
		return wrong(line, "the proxies are missing: give numbers such as 1-4,7, addresses, or all");
	bad = parse_ranges(line->words[1], SCRIPT_MAX_PROXY, &step->proxies, &step->proxies_count);
	return !bad || wrong(line, "'%s' is not a proxy: give numbers from 1 to %u such as 1-4,7, addresses, or all",
			       bad, SCRIPT_MAX_PROXY);
}

static bool take_weight(const struct line *line, const char *word, struct script_step *step)
{
	if (text_number(word, 1, TABLE_MAX_WEIGHT, &step->number))
		return true;
	return wrong(line, "'%s' is not a weight from 1 to %u", word, TABLE_MAX_WEIGHT);
}

static bool take_add(const struct line *line, struct script_step *step)
{
	if (!take_proxies(line, step))
		return false;
	for (int i = 2; i < line->count; i++) {
		if (strcmp(line->words[i], "draining") == 0)
			step->draining = true;
		else if (strcmp(line->words[i], "weight") == 0 && i + 1 < line->count) {
			if (!take_weight(line, line->words[++i], step))
				return false;
		} else
			return wrong(line, "'%s' is neither draining nor weight NUMBER", line->words[i]);
	}
	return true;
}

static bool take_only_proxies(const struct line *line, struct script_step *step)
{
	if (!take_proxies(line, step))
		return false;
	return line->count == 2 || wrong(line, "unexpected word '%s'", line->words[2]);
}

static bool take_weights(const struct line *line, struct script_step *step)
{
	if (line->count != 3)
		return wrong(line, "expected proxies and a weight, such as weight 1-4 200");
	return take_proxies(line, step) && take_weight(line, line->words[2], step);
}

static bool take_wait(const struct line *line, struct script_step *step)
{
	if (line->count == 3 && strcmp(line->words[1], "drained") == 0) {
		struct line rest = *line;

		step->verb = SCRIPT_WAIT_DRAINED;
		rest.words[1] = line->words[2];
		return take_proxies(&rest, step);
	}
	if (line->count != 2)
		return wrong(line, "expected a time such as 10m, or drained and proxies");
	return take_time(line, line->words[1], &step->wait_ms);
}

static bool take_hops(const struct line *line, struct script_step *step)
{
	if (line->count == 2 && text_number(line->words[1], TABLE_MIN_HOPS, TABLE_MAX_HOPS, &step->number))
		return true;
	return wrong(line, "expected a number of hops from %u to %u", TABLE_MIN_HOPS, TABLE_MAX_HOPS);
}

static bool take_balance(const struct line *line, struct script_step *step)
{
	if (line->count == 2 && table_parse_balance(line->words[1], &step->number))
		return true;
	return wrong(line, "expected off, or a number from 1.005 to 2 with at most 3 decimals");
}

static bool take_history(const struct line *line, struct script_step *step)
{
	step->on = line->count == 2 && strcmp(line->words[1], "on") == 0;
	return step->on || (line->count == 2 && strcmp(line->words[1], "off") == 0) || wrong(line, "expected on or off");
}

static const struct {
	const char *name;
	enum script_verb verb;
	bool (*take)(const struct line *line, struct script_step *step);
} verbs[] = {
	{"add", SCRIPT_ADD, take_add},
	{"remove", SCRIPT_REMOVE, take_only_proxies},
	{"drain", SCRIPT_DRAIN, take_only_proxies},
	{"undrain", SCRIPT_UNDRAIN, take_only_proxies},
	{"weight", SCRIPT_WEIGHT, take_weights},
	{"fail", SCRIPT_FAIL, take_only_proxies},
	{"unhealthy", SCRIPT_UNHEALTHY, take_only_proxies},
	{"recover", SCRIPT_RECOVER, take_only_proxies},
	{"wait", SCRIPT_WAIT, take_wait},
	{"hops", SCRIPT_HOPS, take_hops},
	{"balance", SCRIPT_BALANCE, take_balance},
	{"history", SCRIPT_HISTORY, take_history},
};

static bool add_step(const struct line *line, size_t verb)
{
	struct script *script = line->script;
	struct script_step *step;

	if (script->count == SCRIPT_MAX_STEPS)
		return wrong(line, "the script has more than %u changes and waits", SCRIPT_MAX_STEPS);
	script->steps = alloc_grown(script->steps, script->count + 1, sizeof(*script->steps));
	step = &script->steps[script->count++];
	*step = (struct script_step){
		.line = line->number,
		.verb = verbs[verb].verb,
		.text = join(line->words, line->count),
	};
	return verbs[verb].take(line, step);
}

static bool parse_line(const struct line *line)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (strcmp(line->words[0], settings[i].name) != 0)
			continue;
		if (line->script->count)
			return wrong(line, "stands before the first change or wait, because it is true for all of them");
		return settings[i].set(line);
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(line->words[0], verbs[i].name) == 0)
			return add_step(line, i);
	script_error(line->faults, line->number,
		"unknown command '%s': expected lengths, rate, directors, behind, add, remove, drain, undrain, weight, fail, unhealthy, recover, wait, hops, balance or history",
		line->words[0]);
	return false;
}

bool script_parse(struct script *script, char *text, struct faults *faults)
{
	struct line line = {.script = script, .faults = faults};
	size_t errors = faults->errors;

	*script = (struct script){
		.lengths = {.kind = LENGTHS_EXPONENTIAL, .mean = DEFAULT_MEAN_MS},
		.rate = DEFAULT_RATE,
		.directors = 1,
	};
	for (char *at; (at = strsep(&text, "\n"));) {
		line.number++;
		line.count = cut(at, line.words, MAX_WORDS);
		if (line.count == MAX_WORDS)
			script_error(faults, line.number, "the line has more than %u words", MAX_WORDS - 1);
		else if (line.count > 0)
			parse_line(&line);
	}
	if (script->count == 0 && faults->errors == errors)
		faults_error(faults, NULL, "has no change and no wait, so there is nothing to simulate");
	return faults->errors == errors;
}

void script_free(struct script *script)
{
	for (size_t i = 0; i < script->count; i++) {
		free(script->steps[i].text);
		free(script->steps[i].proxies);
	}
	free(script->steps);
	*script = (struct script){0};
}
