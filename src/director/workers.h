/* SPDX-License-Identifier: BSD-3-Clause */
/* The workers of a director: made from the plan, and their counters added up. */
#ifndef GLB_DIRECTOR_WORKERS_H
#define GLB_DIRECTOR_WORKERS_H

#include <stdint.h>

#include "director/director.h"
#include "worker/counters.h"

/* Creates the workers of director->plan, with their flow paths. Main thread only; the ports are set up. 0, or -errno after
 * logging why. */
int workers_create(struct director *director);

/* Main thread only; no worker runs any more. */
void workers_free(struct director *director);

/* The sum over all workers. Any thread. */
void workers_sum(const struct director *director, struct counters *sum);

/* What all workers have counted for one slot of the counters. context: the struct director. For reload_run(). */
struct counters_table workers_sum_slot(void *context, uint8_t slot);

#endif
