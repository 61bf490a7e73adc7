/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/lengths.h"

#include <math.h>
#include <string.h>

#include "common/text.h"

/* exp() and pow() of the C library may differ in the last digit between machines, so they are not used here. */
#define LN_2 0.693147180559945309417

/* Returns the natural logarithm of x, which is above 0: ln((1 + z) / (1 - z)) = 2 * (z + z^3 / 3 + z^5 / 5 + ...). */
static double natural_log(double x)
{
	int power;
	double part = frexp(x, &power), z = (part - 1) / (part + 1), square = z * z, sum = 0;

	for (int i = 51; i >= 1; i -= 2)
		sum = sum * square + 1.0 / i;
	return 2 * z * sum + power * LN_2;
}

/* Returns e^-x for x >= 0, from the power series of the part that is below ln 2. */
static double exp_minus(double x)
{
	double halvings = floor(x / LN_2), rest = halvings * LN_2 - x, sum = 1;

	if (halvings > 1000)
		return 0;
	for (int i = 22; i >= 1; i--)
		sum = 1 + sum * rest / i;
	return ldexp(sum, -(int)halvings);
}

/* The CDF is linear between two points. */
static double quantiles_younger(const struct lengths *lengths, double age)
{
	double sum = 0;

	for (unsigned i = 0; i + 1 < lengths->count; i++) {
		const struct lengths_point *from = &lengths->points[i], *to = from + 1;
		double share = to->share - from->share, mean = age;

		if (to->length <= age)
			mean = (from->length + to->length) / 2;
		else if (from->length < age)
			mean = age - (age - from->length) * (age - from->length) / (to->length - from->length) / 2;
		sum += share * mean;
	}
	return sum;
}

double lengths_mean(const struct lengths *lengths)
{
	if (lengths->kind == LENGTHS_FOREVER)
		return INFINITY;
	return lengths->kind == LENGTHS_QUANTILES ? quantiles_younger(lengths, INFINITY) : lengths->mean;
}

double lengths_younger(const struct lengths *lengths, double age)
{
	double shortest;

	switch (lengths->kind) {
	case LENGTHS_EXPONENTIAL:
		return isinf(age) ? lengths->mean : lengths->mean * (1 - exp_minus(age / lengths->mean));
	case LENGTHS_PARETO:
		shortest = lengths->mean * (lengths->shape - 1) / lengths->shape;
		if (age <= shortest)
			return age;
		if (isinf(age))
			return lengths->mean;
		return lengths->mean -
		       shortest / (lengths->shape - 1) * exp_minus((lengths->shape - 1) * natural_log(age / shortest));
	case LENGTHS_QUANTILES:
		return quantiles_younger(lengths, age);
	case LENGTHS_FOREVER:
		return age;
	}
	return 0;
}

#define MIN_SHAPE 1001 /* thousandths */
#define MAX_SHAPE 100000

static const char *take_mean(const char *word, double *mean)
{
	int64_t ms;

	if (!text_duration_ms(word, LENGTHS_MAX_MS, &ms) || ms == 0)
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
	if (!text_duration_ms(words[1], LENGTHS_MAX_MS, &ms))
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

const char *lengths_parse(struct lengths *lengths, char *const words[], int count)
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
