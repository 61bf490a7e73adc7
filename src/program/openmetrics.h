/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes metrics as text, in one of two formats: OpenMetrics 1.0, or the text format of Prometheus, which promtool and
 * the textfile collector of node_exporter read. All samples of a family follow its header. Owned by one thread.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Content-Type of the two formats. OPENMETRICS_MEDIA is what a client names in Accept to get OpenMetrics. */
#define OPENMETRICS_MEDIA       "application/openmetrics-text"
#define OPENMETRICS_TYPE        OPENMETRICS_MEDIA "; version=1.0.0; charset=utf-8"
#define OPENMETRICS_TYPE_LEGACY "text/plain; version=0.0.4; charset=utf-8"

enum openmetrics_format {
	OPENMETRICS_1_0,
	/* The text format of Prometheus, version 0.0.4. */
	OPENMETRICS_LEGACY,
};

enum openmetrics_type {
	OPENMETRICS_COUNTER,
	OPENMETRICS_GAUGE,
	OPENMETRICS_INFO,
	OPENMETRICS_SUMMARY,
	OPENMETRICS_HISTOGRAM,
};

struct openmetrics_label {
	const char *name, *value;
};

/* The labels of a sample, as an argument. Values may be any bytes: those that are not UTF-8 are written as '?'. */
#define OPENMETRICS_LABELS(...) ((const struct openmetrics_label[]){__VA_ARGS__, {0}})
#define OPENMETRICS_NO_LABELS   ((const struct openmetrics_label[]){{0}})

struct openmetrics {
	/* The caller may change it between two calls. */
	FILE *to;
	enum openmetrics_format format;
	/* Before all names: "glb_director_" */
	const char *prefix;
	/* The family of the last header. */
	const char *family;
	enum openmetrics_type type;
	/* If it is set, nothing is written. Instead it is called for each sample of a counter or gauge. */
	void (*take)(
		void *context, const struct openmetrics *family, const struct openmetrics_label *labels, double value);
	void *take_context;
};

/*
 * Begins a family. `name` has neither the prefix nor the suffix of its type, which the samples get: _total for a
 * counter, _info for an info. `name` must exist until the next family. help: a sentence or a noun phrase.
 */
void openmetrics_family(struct openmetrics *to, const char *name, enum openmetrics_type type, const char *help);

/* Writes a sample of a counter or gauge. */
void openmetrics_number(struct openmetrics *to, const struct openmetrics_label *labels, uint64_t value);
/* The same for a value that may have a fraction: seconds and ratios. */
void openmetrics_real(struct openmetrics *to, const struct openmetrics_label *labels, double value);
/* Writes a sample of an info, which has only labels. */
void openmetrics_info(struct openmetrics *to, const struct openmetrics_label *labels);
/* Writes a summary without quantiles. */
void openmetrics_summary(struct openmetrics *to, const struct openmetrics_label *labels, uint64_t count, double sum);
/*
 * Writes a histogram. `counts` has how many values each bucket has alone, of `size` buckets with these upper bounds,
 * and one more for all larger values.
 */
void openmetrics_histogram(struct openmetrics *to, const struct openmetrics_label *labels, const double *bounds,
	const uint64_t *counts, unsigned size, double sum);

/* A family with one sample without labels. */
void openmetrics_counter(struct openmetrics *to, const char *name, const char *help, uint64_t value);
void openmetrics_gauge(struct openmetrics *to, const char *name, const char *help, uint64_t value);

/* Ends the page. */
void openmetrics_end(struct openmetrics *to);
