/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers that a program shows. All that anyone types about a number is one entry of a table that stands beside the
 * struct with the numbers. Metrics, telemetry, JSON, pages, help and the tables of docs/reference render such tables. A
 * table ends with an entry without help. Constant data: any thread may read it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "program/openmetrics.h"

enum facts_form {
	FACTS_BOOL,
	FACTS_INT,
	FACTS_U16,
	FACTS_U32,
	FACTS_U64,
	FACTS_REAL,
};

struct fact {
	const char *metric; /* the family in OpenMetrics and statsd, without prefix and suffix; NULL: no metric */
	const char *key; /* in JSON and telemetry; NULL: not there */
	enum openmetrics_type type;
	enum facts_form form;
	uint32_t offset;
	const char *help; /* a sentence or a noun phrase */
	/*
	 * The label in which the entries of one metric differ. They follow each other. The first one has the help of
	 * the metric.
	 */
	struct openmetrics_label label;
	const char *family_help;
};

/* Where a number is: FACTS_AT(struct link, mbps). The compiler knows its form. */
#define FACTS_AT(of, member)                      \
	.form = _Generic(((of *)0)->member, _Bool \
			 : FACTS_BOOL, int        \
			 : FACTS_INT, uint16_t    \
			 : FACTS_U16, uint32_t    \
			 : FACTS_U32, uint64_t    \
			 : FACTS_U64, double      \
			 : FACTS_REAL),           \
	.offset = offsetof(of, member)

/* The number of *from that the fact is about. facts_number() is for all forms but FACTS_REAL. */
uint64_t facts_number(const struct fact *fact, const void *from);
double facts_real(const struct fact *fact, const void *from);

/* Begins the family of a fact that has a metric, unless that family was begun last. */
void facts_family(struct openmetrics *to, const struct fact *fact);
/* Writes a sample of the family that was begun last. NAN: the number is not known, so it has no sample. */
void facts_sample(
	struct openmetrics *to, const struct fact *fact, const struct openmetrics_label *labels, const void *from);
/* Writes each metric of the table with the labels that the table has. */
void facts_metrics(struct openmetrics *to, const struct fact *facts, const void *from);
