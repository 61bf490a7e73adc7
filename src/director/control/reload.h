/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the forwarding table and replaces it while packets flow (RCU, worker_shared.h). Only the control thread has it replaced.
 * Threads other than the workers, for example telemetry's, hold `lock` while they read the table.
 */
#ifndef GLB_DIRECTOR_CONTROL_RELOAD_H
#define GLB_DIRECTOR_CONTROL_RELOAD_H

#include <pthread.h>
#include <stdint.h>

#include "common/faults.h"
#include "worker/counters.h"
#include "worker/worker_shared.h"

#define RELOAD_ERROR_SIZE 512
#define RELOAD_NAME_SIZE  256

/* Who a slot of the counters counts for: a table keeps it over reloads, by its name. */
struct reload_slot {
	char name[RELOAD_NAME_SIZE]; /* "" : free */
	struct counters_table baseline; /* what the slot had counted before it was this table's */
};

struct reload {
	const char *path; /* borrowed */
	struct worker_shared *shared; /* borrowed; `live` is replaced under the lock */

	/* Protects the members below, and shared->live from being freed while a thread that is no worker reads it. */
	pthread_mutex_t lock;
	uint64_t reloads, failures;
	char last_error[RELOAD_ERROR_SIZE]; /* of the last reload; "" where it succeeded */
	struct reload_slot slots[COUNTERS_SLOTS];
};

/*
 * Loads `path` for the first time and fills shared->live and shared->qsbr, the latter for `workers` workers. Both pointers are
 * kept until reload_close(). 0, or -errno with an error in faults.
 */
int reload_open(
	struct reload *reload, struct worker_shared *shared, const char *path, unsigned workers, struct faults *faults);

/*
 * Loads the file again, and returns when no worker uses the old table any more. 0, or -errno: the
 * old table stays, and last_error says why. `count` tells what a slot has counted so far, for a
 * table that is new.
 */
int reload_run(struct reload *reload, struct counters_table (*count)(void *context, uint8_t slot), void *context);

/* Frees the table. No worker runs any more. */
void reload_close(struct reload *reload);

#endif
