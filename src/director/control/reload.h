/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the forwarding table, and replaces it while packets flow (RCU, see worker_shared.h). The functions are called
 * by one thread at a time: by the main thread, or on behalf of the control thread while that runs. Other threads,
 * except workers, hold `lock` while they read the table.
 */
#ifndef GLB_DIRECTOR_CONTROL_RELOAD_H
#define GLB_DIRECTOR_CONTROL_RELOAD_H

#include <pthread.h>
#include <stdint.h>

#include "common/faults.h"
#include "director/control/traffic.h"
#include "worker/counters.h"
#include "worker/worker_shared.h"

#define RELOAD_ERROR_SIZE 512
#define RELOAD_NAME_SIZE  256

/* A slot of counters.tables. A table keeps its slot over reloads as long as its name, or without one its first bind, is the same. */
struct reload_slot {
	char name[RELOAD_NAME_SIZE]; /* of the table, see identify(); "": the slot is free */
	struct counters_table baseline; /* the counters of the slot when the table got it */
	struct traffic traffic;
};

/* Returns what all workers have counted for a slot so far. */
typedef struct counters_table reload_count(void *context, uint8_t slot);

struct reload {
	const char *path; /* of the forwarding table; borrowed */
	unsigned max_shrink; /* percent, see table/table_guard.h */
	struct worker_shared *shared; /* borrowed; `live` is replaced under the lock */

	/* Protects the members below. Also keeps shared->live from being freed while a thread that is no worker reads it. */
	pthread_mutex_t lock;
	uint64_t reloads, failures; /* number of reloads that succeeded, and that failed */
	char last_error[RELOAD_ERROR_SIZE]; /* why the last reload failed; "": it succeeded, or there was none */
	struct reload_slot slots[COUNTERS_SLOTS];
};

/*
 * Loads the file `path` for the first time. Fills shared->live, and shared->qsbr for `workers` workers. *shared and
 * path must exist until reload_close(). 0, or -errno with an error in faults. Then the caller sets max_shrink.
 */
int reload_open(
	struct reload *reload, struct worker_shared *shared, const char *path, unsigned workers, struct faults *faults);

/* Makes the counts of the first table's backends for this number of workers. Called before workers run. 0, or -ENOMEM. */
int reload_count_backends(struct reload *reload, unsigned workers);

/*
 * Loads the file again, publishes the new table, waits until no worker uses the old one any more, and frees that.
 * Refuses a table that empties the service, unless `force`. count() is called with `context`. 0, or -errno: the old
 * table stays in use, and last_error says why.
 */
int reload_run(struct reload *reload, bool force, reload_count *count, void *context);

/* Frees the table. No worker runs any more. Does nothing if reload_open() was not called. */
void reload_close(struct reload *reload);

#endif
