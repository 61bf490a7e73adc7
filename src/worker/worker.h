/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An lcore at work: it goes round its paths, each from a queue to a queue. Built by main, then
 * owned by the lcore that runs it; others read only its counters.
 */
#ifndef GLB_WORKER_WORKER_H
#define GLB_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/pipeline.h"
#include "worker/counters.h"
#include "worker/distribute.h"
#include "worker/idle.h"
#include "worker/queue.h"
#include "worker/transmit.h"
#include "worker/worker_shared.h"

enum flow_path_kind {
	FLOW_PATH_STEER, /* in -> pipeline -> out, or exception */
	FLOW_PATH_DISTRIBUTE, /* in -> rings of workers; the rest as FLOW_PATH_STEER */
	FLOW_PATH_COLLECT, /* ring of a worker -> out, or exception, as the worker has decided */
	FLOW_PATH_RETURN, /* exception path -> out, unchanged */
};

/* A burst that was received. */
struct rx_burst {
	uint16_t count;
	struct rte_mbuf *mbufs[QUEUE_BURST];
};

/* Packets of one family that are to fill a burst. */
struct family_batch {
	uint16_t count;
	uint16_t waited; /* so long it waits already */
	struct rte_mbuf *mbufs[2 * QUEUE_BURST];
};

struct flow_path {
	uint8_t kind; /* enum flow_path_kind */
	uint8_t current; /* which of held is steered next; the other is received into */
	uint16_t split_left; /* rounds left in which IPv4 and IPv6 are steered apart */
	struct queue in, out;
	struct queue exception; /* for what is unmatched */
	bool segments_allowed; /* by the port that transmits */
	struct rte_mempool *pool; /* for copies */
	struct distributor *distributor; /* FLOW_PATH_DISTRIBUTE */
	uint16_t descriptors; /* of the rx queue */
	uint8_t source_mac[6]; /* of the port that transmits */
	struct rx_burst bursts[2]; /* FLOW_PATH_STEER, FLOW_PATH_DISTRIBUTE */
	struct family_batch families[2]; /* FLOW_PATH_STEER: IPv6, and all else */
};

struct worker {
	const struct worker_shared *shared;
	uint16_t index; /* its thread id for RCU */
	uint16_t lcore;
	uint16_t path_count;
	struct flow_path *paths;

	struct pipeline pipeline;
	uint64_t answers_at; /* TSC when pipeline.answers was topped up */
	struct outbox outbox, exceptions;
	struct burst burst;
	struct idle idle;
	struct counters counters;
};

/* Runs until worker_shared_stopping(); `argument` is a struct worker. For rte_eal_remote_launch(). */
int worker_run(void *argument);

#endif
