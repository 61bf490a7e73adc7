/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/rows/table_weight.h"

#include <stdbool.h>

#define KNOT_BITS 8
#define KNOTS     (1u << KNOT_BITS)
/* One, in the fixed-point numbers of this file. */
#define UNIT_BITS 40
/* Bits between two knots that are used. Their product with a difference of knots has 64 bits. */
#define REST_BITS 31

/* floor(log2(1 + i / KNOTS) << UNIT_BITS) */
static uint64_t knots[KNOTS + 1] = {[KNOTS] = UINT64_C(1) << UNIT_BITS};

/*
 * Fills the knots before main(). `mantissa` is a number from 1 to 2 with 63 bits after the point. The logarithm of its
 * square is twice as large, so each squaring gives the next bit of the logarithm. tests/unit/table/test_table_weight.c
 * compares the knots with those of the C library.
 */
__attribute__((constructor)) static void fill_knots(void)
{
	for (uint64_t i = 0; i < KNOTS; i++) {
		uint64_t mantissa = (KNOTS + i) << (63 - KNOT_BITS);

		for (unsigned bit = 0; bit < UNIT_BITS; bit++) {
			unsigned __int128 square = (unsigned __int128)mantissa * mantissa;
			bool next = square >> 127;

			mantissa = (uint64_t)(square >> (63 + next));
			knots[i] = 2 * knots[i] + next;
		}
	}
}

/* Returns -log2(1 - score / 2^64), linear between the knots. It never decreases when the score grows. */
static uint64_t exponential(uint64_t score)
{
	uint64_t rest = ~score ? ~score : 1, between;
	unsigned zeros = (unsigned)__builtin_clzll(rest), knot;

	rest <<= zeros;
	knot = (unsigned)(rest >> (63 - KNOT_BITS)) & (KNOTS - 1);
	between = rest >> (63 - KNOT_BITS - REST_BITS) & ((UINT64_C(1) << REST_BITS) - 1);
	return ((uint64_t)(zeros + 1) << UNIT_BITS) - knots[knot] -
	       ((knots[knot + 1] - knots[knot]) * between >> REST_BITS);
}

uint64_t table_weight_key(uint64_t score, unsigned weight)
{
	return exponential(score) / weight;
}
