/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/facts.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

uint64_t facts_number(const struct fact *fact, const void *from)
{
	const char *at = (const char *)from + fact->offset;

	switch (fact->form) {
	case FACTS_BOOL:
		return *(const bool *)at;
	case FACTS_INT:
		return *(const int *)at;
	case FACTS_U16:
		return *(const uint16_t *)at;
	case FACTS_U32:
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

double facts_real(const struct fact *fact, const void *from)
{
	return fact->form == FACTS_REAL ? *(const double *)((const char *)from + fact->offset)
					: (double)facts_number(fact, from);
}

void facts_family(struct openmetrics *to, const struct fact *fact)
{
	if (!to->family || strcmp(to->family, fact->metric) != 0)
		openmetrics_family(to, fact->metric, fact->type, fact->family_help ? fact->family_help : fact->help);
}

void facts_sample(
	struct openmetrics *to, const struct fact *fact, const struct openmetrics_label *labels, const void *from)
{
	double real = facts_real(fact, from);

	if (fact->form == FACTS_REAL && isnan(real))
		return;
	if (fact->form == FACTS_REAL)
		openmetrics_real(to, labels, real);
	else
		openmetrics_number(to, labels, facts_number(fact, from));
}

void facts_metrics(struct openmetrics *to, const struct fact *facts, const void *from)
{
	for (; facts->help; facts++) {
		if (!facts->metric)
			continue;
		facts_family(to, facts);
		facts_sample(to, facts, OPENMETRICS_LABELS(facts->label), from);
	}
}
