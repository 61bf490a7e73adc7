/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long connections last: a distribution of lengths. All results come from additions, multiplications and divisions
 * of IEEE 754 numbers, so that they are the same on every machine. Times are milliseconds. Pure, thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LENGTHS_MAX_POINTS 64
#define LENGTHS_MAX_MS     (INT64_C(36525) * 24 * 3600 * 1000) /* 100 years */

enum lengths_kind {
	LENGTHS_EXPONENTIAL,
	LENGTHS_PARETO,
	LENGTHS_QUANTILES,
	LENGTHS_FOREVER, /* no connection ends by itself */
};

/* `share` of the connections last at most `length`. */
struct lengths_point {
	double share, length;
};

struct lengths {
	enum lengths_kind kind;
	double mean; /* of exponential and Pareto */
	double shape; /* of Pareto, above 1 */
	unsigned count; /* of points; their shares rise from 0 to 1, and their lengths do not fall */
	struct lengths_point points[LENGTHS_MAX_POINTS];
};

/* Returns the mean; INFINITY for LENGTHS_FOREVER. */
double lengths_mean(const struct lengths *lengths);

/*
 * Returns the mean of min(length, age): how long a connection is there while it is at most this old. If one connection
 * begins in each millisecond, this is the number of those that are there and younger than `age`.
 */
double lengths_younger(const struct lengths *lengths, double age);

/* Parses the words after `lengths` of a script. Returns NULL, or what is wrong; then *lengths may have changed. */
const char *lengths_parse(struct lengths *lengths, char *const words[], int count);
