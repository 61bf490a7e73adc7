/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/script_lengths.h"

#include <string.h>

#include "cli/simulate/script_words.h"
#include "common/text.h"

#define MIN_SHAPE 1001 /* thousandths */
#define MAX_SHAPE 100000

static const char *take_mean(const char *word, double *mean)
{
	int64_t ms;

	if (!text_duration_ms(word, SCRIPT_MAX_MS, &ms) || ms == 0)
		return "the mean is not a time above 0 and of at most 100 years, such as 500ms, 30s, 10m, 2h or 7d";
	*mean = (double)ms;
	return NULL;
}

static const char *take_point(char *const words[2], struct lengths_point *point)
{
	double percent;
	int64_t ms;

	if (!text_percent(words[0], &percent))
		return "a quantile is not a percentage from 0 to 100, such as 50 or 99.9";
	if (!text_duration_ms(words[1], SCRIPT_MAX_MS, &ms))
		return "a length is not a time of at most 100 years, such as 500ms, 30s, 10m, 2h or 7d";
	*point = (struct lengths_point){.share = percent / 100, .length = (double)ms};
	return NULL;
}

static const char *take_quantiles(struct lengths *lengths, char *const words[], int count)
{
	const char *problem;

	lengths->count = 1;
	lengths->points[0] = (struct lengths_point){0};
	if (count < 2 || count % 2)
		return "expected percentages, each with a length, such as quantiles 50 8s 99 10m 100 2h";
	for (int i = 0; i < count; i += 2) {
		struct lengths_point *last = &lengths->points[lengths->count - 1], *point = last + 1;

		if (lengths->count == LENGTHS_MAX_POINTS)
			return "there are more than 63 quantiles";
		problem = take_point(words + i, point);
		if (problem)
			return problem;
		if (point->share < last->share || point->length < last->length)
			return "a quantile or its length is less than the one before it";
		lengths->count++;
	}
	if (lengths->points[lengths->count - 1].share < 1)
		return "the last quantile is not 100: how long does the longest connection last?";
	if (lengths_mean(lengths) <= 0)
		return "all connections have length 0";
	return NULL;
}

const char *script_lengths(struct lengths *lengths, char *const words[], int count)
{
	const char *kind = count > 0 ? words[0] : "";
	uint32_t shape;

	*lengths = (struct lengths){.kind = LENGTHS_FOREVER};
	if (strcmp(kind, "forever") == 0 && count == 1)
		return NULL;
	if (strcmp(kind, "exponential") == 0 && count == 2) {
		lengths->kind = LENGTHS_EXPONENTIAL;
		return take_mean(words[1], &lengths->mean);
	}
	if (strcmp(kind, "pareto") == 0 && count == 3) {
		if (!text_thousandths(words[1], MIN_SHAPE, MAX_SHAPE, &shape))
			return "the shape is not a number from 1.001 to 100 with at most 3 decimals; up to 1 there is no mean";
		lengths->kind = LENGTHS_PARETO;
		lengths->shape = shape / 1000.0;
		return take_mean(words[2], &lengths->mean);
	}
	if (strcmp(kind, "quantiles") == 0) {
		lengths->kind = LENGTHS_QUANTILES;
		return take_quantiles(lengths, words + 1, count - 1);
	}
	return "expected forever, exponential MEAN, pareto SHAPE MEAN, or quantiles PERCENT LENGTH...";
}
