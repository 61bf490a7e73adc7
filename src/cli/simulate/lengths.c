/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/lengths.h"

#include <math.h>

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
