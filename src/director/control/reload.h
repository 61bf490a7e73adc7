/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The forwarding table in use and its replacement while packets flow. Workers take reload_live()
 * afresh each round and say when they hold nothing (RCU); the control thread alone has it replaced.
 * Others that read it, such as telemetry, lock `lock`.
 */
#ifndef GLB_DIRECTOR_CONTROL_RELOAD_H
#define GLB_DIRECTOR_CONTROL_RELOAD_H

#include <pthread.h>
#include <stdint.h>

#include <rte_rcu_qsbr.h>

#include "packet/routes.h"
#include "worker/counters.h"

#define RELOAD_ERROR_SIZE 512
#define RELOAD_NAME_SIZE  256

/* Read-only once published. */
struct reload_live {
	struct routes *routes;
	uint64_t generation; /* 1 for the table at start */
	uint8_t slot[TABLE_MAX_TABLES]; /* of each table, in counters.tables */
};

/* Who a slot of the counters counts for: a table keeps it over reloads, by its name. */
struct reload_slot {
	char name[RELOAD_NAME_SIZE]; /* "" : free */
	struct counters_table baseline; /* what the slot had counted before it was this table's */
};

struct reload {
	const char *path; /* borrowed */
	struct rte_rcu_qsbr *qsbr; /* one thread a worker, by its index */
	struct reload_live *live; /* atomic; written under lock */

	pthread_mutex_t lock; /* for what follows, and for *live to stay while a thread other than a
				 worker reads it */
	uint64_t reloads, failures;
	char last_error[RELOAD_ERROR_SIZE]; /* of the last reload; "" where it succeeded */
	struct reload_slot slots[COUNTERS_SLOTS];
};

/* 0, or -errno: an error in faults. Loads `path` (kept) for the first time. */
int reload_open(struct reload *reload, const char *path, unsigned workers, struct faults *faults);

/*
 * Loads the file again, and returns when no worker uses the old table any more. 0, or -errno: the
 * old table stays, and last_error says why. `count` tells what a slot has counted so far, for a
 * table that is new.
 */
int reload_run(struct reload *reload, struct counters_table (*count)(void *context, uint8_t slot), void *context);

/* When no worker runs any more. */
void reload_close(struct reload *reload);

static inline const struct reload_live *reload_live(const struct reload *reload)
{
	return __atomic_load_n(&reload->live, __ATOMIC_ACQUIRE);
}

#endif
