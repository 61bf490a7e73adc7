/* SPDX-License-Identifier: BSD-3-Clause */
/* The director's own workers (worker.c, unchanged), with what they share. */
#ifndef GLB_BENCH_SUBJECT_H
#define GLB_BENCH_SUBJECT_H

#include "bench/line.h"
#include "worker/worker.h"

struct subject {
	struct worker_shared shared;
	struct live_table live;
	struct steering_config steering;
	struct worker *workers[LINE_QUEUES];
	struct flow_path paths[LINE_QUEUES];
	struct distributor *distributor; /* from the first worker to the second */
};

/* Steers from the port to itself, by the routes (borrowed); copies of frames come from the pool.
 * Ends the process where there is no memory. */
void subject_open(struct subject *subject, uint16_t port, struct routes *routes, struct rte_mempool *pool);
void subject_close(struct subject *subject);

/* Between passes. spread: the first worker receives for both, else each from its own queue. fast:
 * the path that packets take, or NULL. */
void subject_arrange(struct subject *subject, bool distributor, lanes_fn *fast);

#endif
