/* SPDX-License-Identifier: BSD-3-Clause */
/* The workers of a director. */
#pragma once

#include "director/plan.h"
#include "worker/counters.h"
#include "worker/exceptions.h"

struct director;
struct worker;

/* The main thread fills it before it starts other threads. Workers write `limits`. */
struct workers {
	uint16_t count;
	struct worker *list[PLAN_MAX_LCORES]; /* one per lcore of the plan, in the same order */
	struct exception_limits limits; /* all workers share them */
};

/*
 * Creates the workers of director->plan, with their flow paths. Main thread only. The ports are set up. 0, or -errno
 * after logging why.
 */
int workers_create(struct director *director);

/* Main thread only. No worker runs any more. */
void workers_free(struct workers *workers);

/* Writes the sum of all workers' counters to *sum. Any thread. */
void workers_sum(const struct workers *workers, struct counters *sum);
