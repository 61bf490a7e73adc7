/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The samples of a page of metrics that the doctor needs. The page comes from another host and may be anything: what is not a line of
 * text that the doctor needs is skipped, and the memory is limited. Pure. One thread.
 */
#ifndef GLB_CLI_DOCTOR_FLEET_SAMPLES_H
#define GLB_CLI_DOCTOR_FLEET_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

#define SAMPLES_LINE_MAX  1024
#define SAMPLES_MAX       4096 /* lines that are kept */
#define SAMPLES_LABEL_MAX 256

struct samples {
	char line[SAMPLES_LINE_MAX]; /* the one that is not complete yet */
	size_t used;
	bool too_long; /* the line has no room and is skipped */
	char **lines; /* without control characters */
	size_t count, left_out;
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

#endif
