/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The samples of a page of metrics that the caller needs. The page comes from another host and may be anything: what is
 * not a line of text that the caller needs is skipped, and the memory is limited. Pure. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLES_LINE_MAX   1024
#define SAMPLES_MAX        4096 /* lines that are kept */
#define SAMPLES_LABEL_MAX  256
#define SAMPLES_MAX_DIGITS 15 /* of a count, so that the sum of SAMPLES_MAX counts has no overflow */

struct samples {
	const char *const *wanted; /* the names of the samples that are kept, and NULL at the end; borrowed */
	char line[SAMPLES_LINE_MAX]; /* the one that is not complete yet */
	size_t used;
	bool too_long; /* the line has no room and is skipped */
	char **lines; /* without control characters */
	size_t count;
	size_t left_out; /* lines for which there was no room */
};

/* Adds the next bytes of the page. */
void samples_feed(struct samples *samples, const char *bytes, size_t size);
void samples_free(struct samples *samples);

/* Returns the next sample of this name from *at on, and moves *at behind it. NULL: there are no more. */
const char *samples_next(const struct samples *samples, const char *name, size_t *at);

/* Writes the value of a label of the sample, cut if it is too long. Returns false, and "", if it has no such label. */
bool samples_label(const char *sample, const char *label, char value[SAMPLES_LABEL_MAX]);

/* Returns the value of the sample; 0 if there is none. */
double samples_value(const char *sample);

/* Parses the value as a count: decimal digits, at most SAMPLES_MAX_DIGITS. False: *count is unchanged. */
bool samples_count(const char *sample, uint64_t *count);
