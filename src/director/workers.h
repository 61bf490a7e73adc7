/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates the workers of a director and adds up their counters. */
#pragma once

#include "director/director.h"
#include "worker/counters.h"

/*
 * Creates the workers of director->plan, with their flow paths. Main thread only. The ports are set up. 0, or -errno
 * after logging why.
 */
int workers_create(struct director *director);

/* Main thread only. No worker runs any more. */
void workers_free(struct director *director);

/* Writes the sum of all workers' counters to *sum. Any thread. */
void workers_sum(const struct director *director, struct counters *sum);
