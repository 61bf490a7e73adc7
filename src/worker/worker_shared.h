/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The forwarding table in use with its next hops, and the order to stop. All workers read them; once workers run, only
 * the control thread writes them. Members marked as atomic are read and written without a lock. Workers read all of it
 * in every iteration, so it has a cache line for itself.
 */
#ifndef GLB_WORKER_WORKER_SHARED_H
#define GLB_WORKER_WORKER_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_rcu_qsbr.h>

#include "packet/next_hops.h"
#include "packet/routes.h"
#include "worker/backend_counts.h"

#define WORKER_MAX_PORTS 32

/* A forwarding table in use. Read-only once published, except the counts and the next hops. */
struct live_table {
	struct routes *routes;
	uint32_t version; /* of the binary file; 0: JSON */
	uint64_t generation; /* 1 for the table at start; every reload adds 1 */
	uint8_t slot[TABLE_MAX_TABLES]; /* the index in counters.tables, for each table */
	struct backend_counts backends; /* a worker writes its own row */
	/*
	 * Atomic. The next hops of each port that transmits, by flow_path.tx_index. The control thread replaces them. Workers
	 * fetch them for each burst, and the old ones are freed like an old table.
	 */
	struct next_hops *next_hops[WORKER_MAX_PORTS];
};

struct worker_shared {
	/*
	 * Atomic. Workers fetch it once per iteration with worker_shared_live() and report a quiescent state after the
	 * iteration. A table that was replaced is freed when all workers have done so.
	 */
	struct live_table *live;
	struct rte_rcu_qsbr *qsbr; /* the RCU thread id is worker->index */
	bool stop; /* atomic; set once */
} __attribute__((aligned(64)));

static inline const struct live_table *worker_shared_live(const struct worker_shared *shared)
{
	return __atomic_load_n(&shared->live, __ATOMIC_ACQUIRE);
}

static inline bool worker_shared_stopping(const struct worker_shared *shared)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

#endif
