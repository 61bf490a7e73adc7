/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The forwarding table in use with its next hops, and the order to stop. All workers read them; once workers run, only
 * the control thread writes them. Members marked as atomic are read and written without a lock. Workers read all of it
 * in every iteration, so it has a cache line for itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_config.h>
#include <rte_rcu_qsbr.h>

#include "packet/next_hops.h"
#include "packet/routes.h"
#include "worker/counts/table_counts.h"

#define WORKER_MAX_PORTS 32
#define WORKER_SLOW_SIZE 384

/* A forwarding table in use. Read-only once published, except the counts and the next hops. */
struct live_table {
	struct routes *routes;
	uint32_t version; /* of the binary file; 0: JSON */
	uint64_t generation; /* 1 for the table at start; every reload adds 1 */
	uint64_t fingerprint; /* table_set_fingerprint() of the routes' set, which takes milliseconds */
	/* The slot of each table, see director/reload/reload.h */
	uint16_t slot[TABLE_MAX_TABLES];
	struct table_counts counts; /* a worker writes its own rows */
	/*
	 * Atomic. The next hops of each port that transmits, by flow_path.tx_index. The control thread replaces
	 * them. Workers fetch them for each burst, and the old ones are freed like an old table.
	 */
	struct next_hops *next_hops[WORKER_MAX_PORTS];
	/* For people: the first thing in the table that makes packets slower; "": nothing */
	char slow[WORKER_SLOW_SIZE];
};

/* The phases in which workers end: packets have left the bursts of ports, the rings to workers, and the rings back. */
enum drain_phase {
	DRAIN_PORTS,
	DRAIN_WORK,
	DRAIN_COLLECT,
	DRAIN_PHASES,
};

#define DRAIN_LIMIT_MS 1000

/* The workers that have finished each phase. Written by all workers when they end. */
struct worker_drain {
	unsigned workers;
	unsigned arrived[DRAIN_PHASES]; /* atomic */
};

struct tap;

struct worker_shared {
	/*
	 * Atomic. Workers fetch it once per iteration with worker_shared_live() and report a quiescent state after the
	 * iteration. A table that was replaced is freed when all workers have done so.
	 */
	struct live_table *live;
	struct rte_rcu_qsbr *qsbr; /* the RCU thread id is worker->index */
	struct worker_drain *drain; /* NULL: the workers end independently */
	/* Orders to the workers, which compare all of them with the last ones at once. */
	union {
		struct {
			bool stop; /* atomic; set once */
			uint8_t changes; /* atomic; changes with parked[] and with `taps` */
		};
		uint16_t orders;
	};
	/* Atomic; by DPDK port id: no worker uses the port, because it is reset or gone */
	bool parked[RTE_MAX_ETHPORTS];
	struct tap *const *taps; /* atomic; of the capture that runs, by worker->index; NULL: none */
} __attribute__((aligned(64)));

static inline const struct live_table *worker_shared_live(const struct worker_shared *shared)
{
	return __atomic_load_n(&shared->live, __ATOMIC_ACQUIRE);
}

static inline uint16_t worker_shared_orders(const struct worker_shared *shared)
{
	return __atomic_load_n(&shared->orders, __ATOMIC_ACQUIRE);
}

static inline bool worker_shared_is_parked(const struct worker_shared *shared, uint16_t port)
{
	return __atomic_load_n(&shared->parked[port], __ATOMIC_RELAXED);
}

/* Makes the workers look at their orders again, and waits until all of them have. Thread-safe. */
static inline void worker_shared_order(struct worker_shared *shared)
{
	__atomic_fetch_add(&shared->changes, 1, __ATOMIC_RELEASE);
	rte_rcu_qsbr_synchronize(shared->qsbr, RTE_QSBR_THRID_INVALID);
}

/*
 * Orders the workers to stop using a port, or to use it again, and waits until all of them do. Their packets for a
 * parked port wait. The control thread or that of port_recovery calls it.
 */
static inline void worker_shared_park(struct worker_shared *shared, uint16_t port, bool parked)
{
	__atomic_store_n(&shared->parked[port], parked, __ATOMIC_RELAXED);
	worker_shared_order(shared);
}

/*
 * Orders the workers to use the taps of a capture, or none if `taps` is NULL, and waits until no worker uses those
 * before. The capture thread calls it.
 */
static inline void worker_shared_tap(struct worker_shared *shared, struct tap *const *taps)
{
	/* A worker that follows another order in this moment already sees what `taps` points to. */
	__atomic_store_n(&shared->taps, taps, __ATOMIC_RELEASE);
	worker_shared_order(shared);
}

static inline bool worker_shared_stopping(const struct worker_shared *shared)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}
