/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker: what one lcore runs. In every iteration it serves each of its flow paths, from a receive queue or ring to a
 * transmit queue or ring. The main thread creates a worker. From then on its lcore owns it, and other threads only read
 * the counters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/pipeline.h"
#include "worker/counters.h"
#include "worker/distribute.h"
#include "worker/exceptions.h"
#include "worker/idle.h"
#include "worker/poll_gaps.h"
#include "worker/queue.h"
#include "worker/counts/sample.h"
#include "worker/transmit.h"
#include "worker/underlay_notes.h"
#include "worker/worker_shared.h"

enum flow_path_kind {
	FLOW_PATH_STEER, /* in -> pipeline -> out or exception */
	FLOW_PATH_DISTRIBUTE, /* in -> rings of workers; the distributor's own share as FLOW_PATH_STEER */
	FLOW_PATH_COLLECT, /* ring from a worker -> out or exception, by the outcome that the worker has set */
	FLOW_PATH_RETURN, /* exception path -> out, unchanged */
};

/* The packets of one rx burst, until they are steered or distributed. */
struct rx_burst {
	uint16_t count;
	struct rte_mbuf *mbufs[QUEUE_BURST];
};

/* Packets of one family that wait until there are enough for a whole burst. */
struct family_batch {
	uint16_t count;
	uint16_t waited; /* how long the oldest packet has waited, in iterations */
	struct rte_mbuf *mbufs[2 * QUEUE_BURST];
};

/*
 * A flow path holds fewer frames than this: the burst that it receives, the burst that it steers, and less than a burst
 * of each family.
 */
#define FLOW_PATH_FRAMES (4 * QUEUE_BURST)

struct flow_path {
	uint8_t kind; /* enum flow_path_kind */
	uint8_t current; /* index in bursts[] of the burst to steer next; the other one receives */
	uint16_t split_left; /* iterations for which IPv4 and IPv6 are still steered separately */
	struct queue in, out;
	/* Events of `in`, if that is a queue of a port; NULL: the lcore does not wait for it */
	const struct idle_source *source;
	struct queue exception; /* for unmatched packets */
	bool segments_allowed; /* the port that transmits accepts mbufs with several segments */
	bool reply_to_sender; /* as in struct pipeline */
	/* For FLOW_PATH_RETURN, the MTU of the port that transmits; atomic, the control thread changes it */
	const uint16_t *mtu;
	struct rte_mempool *pool; /* for copies; may be shared with other lcores */
	struct distributor *distributor; /* of FLOW_PATH_DISTRIBUTE */
	uint16_t descriptors; /* of the receive queue */
	uint16_t tx_index; /* of the port that transmits, in live_table.next_hops */
	uint16_t tx_port; /* DPDK port id of the port that transmits, here or on the distributor's lcore */
	/* Atomic. The MACs of the port that the packets came from and of the one that transmits, as admission_mac()
	 * returns them. */
	const uint64_t *rx_mac, *tx_mac;
	struct rx_burst bursts[2]; /* of FLOW_PATH_STEER and FLOW_PATH_DISTRIBUTE */
	struct family_batch families[2]; /* of FLOW_PATH_STEER; [0]: IPv6, [1]: all other packets */
};

struct tap;

struct worker {
	const struct worker_shared *shared;
	uint16_t index; /* of the worker among all workers; its thread id for RCU */
	uint16_t lcore; /* DPDK lcore id */
	uint16_t path_count;
	struct flow_path *paths;
	uint16_t active_count; /* of paths[]: the first ones, which are on no parked port */
	uint16_t orders; /* those of worker_shared_orders() that it follows */
	uint32_t unsettled; /* packets since the last call of table_counts_settle() */
	struct tap *tap; /* of the capture that runs; NULL: none */
	struct sampler sampler;
	struct settler settler;

	struct pipeline pipeline;
	struct too_big_limit too_big_limit; /* of the pipeline */
	struct outbox outbox;
	struct exceptions exceptions;
	struct burst burst;
	struct idle idle;
	struct underlay_notes underlay_notes; /* for the control thread, which takes them */
	struct counters counters __attribute__((aligned(64)));
	struct poll_gaps gaps;
};

/*
 * One iteration of a flow path. Returns the number of packets received. flow_path_flush() receives nothing, but works
 * on the packets that the path still holds; only for FLOW_PATH_STEER and FLOW_PATH_DISTRIBUTE.
 */
uint16_t flow_path_run(struct worker *worker, struct flow_path *path, const struct live_table *live);
void flow_path_flush(struct worker *worker, struct flow_path *path, const struct live_table *live);

/* Runs the worker until worker_shared_stopping(). For rte_eal_remote_launch(). argument: a struct worker. Returns 0. */
int worker_run(void *argument);
