/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/fused.h"

#ifdef __AVX512F__
#include <stdio.h>
#include <stdlib.h>

#include "packet/lanes/lanes_emit.h"
#include "packet/lanes/lanes_steer.h"
#include "worker/mbuf.h"
#include "worker/worker.h"

/* The checks of the mbufs, over all packets of a block. */
struct checks {
	uint64_t obstacles; /* as mbuf_obstacles() */
	uint32_t below; /* its sign bit is set if a frame or its headroom is too small */
};

/* Loads the headers of a block as the director does, and checks its mbufs. */
INLINE void load_block(struct rte_mbuf *const *mbufs, uint32_t headroom, struct lanes *lanes, struct block *block,
	uint8_t *frames[BLOCK], struct checks *checks)
{
#pragma GCC unroll 4
	for (uint32_t i = 0; i < BLOCK; i++) {
		const struct rte_mbuf *mbuf = mbufs[i];

		checks->obstacles |= mbuf_obstacles(mbuf) | (mbuf->data_len ^ mbuf->pkt_len);
		checks->below |= (mbuf->data_len - (uint32_t)V4_SMALLEST) | (mbuf->data_off - headroom);
		frames[i] = rte_pktmbuf_mtod(mbuf, uint8_t *);
	}
	load_block_v4(lanes, (const uint8_t *const *)frames, 0);
	EACH (i) {
		block->total[i] = swap16(lanes->first[i] >> 16);
		block->table[i] = 0;
		block->eligible[i] = 1;
	}
}

INLINE void steer_block(
	const struct lanes_job *job, const struct message *message, const struct lanes *lanes, struct block *block)
{
	uint64_t words[MAX_WORDS][BLOCK];

	write_message(message, lanes, 0, false, words);
	hash_block(job->routes, message, words, block->table, block->hash);
	if (job->routes->pairs_scalar)
		EACH (i)
			load_pair(job->routes, block, i);
	find_hops(job->routes, block);
	compute_patches(job, lanes, 0, OUTER_IPV4, block);
}

INLINE void write_block(const struct prebuilt_headers *headers, const struct block *block, uint8_t *const frames[BLOCK],
	struct rte_mbuf **mbufs)
{
	const struct prebuilt_headers copy = *headers; /* no store can change it, so it stays in registers */

#pragma GCC unroll 16
	for (uint32_t i = 0; i < BLOCK; i++) {
		uint8_t *out = frames[i] + NET_ETHERNET_SIZE - encapsulate_size(false, 2);

		write_lane(&copy, NULL, NULL, block, i, 2, out);
		mbuf_commit_single(mbufs[i], out, NET_ETHERNET_SIZE + block->total[i]);
	}
}

INLINE void steer_burst(const struct lanes_job *job, struct rte_mbuf **mbufs, uint16_t count)
{
	struct message message = plan_message(STEERING_SOURCE_ADDRESS, false);
	uint32_t headroom = routes_headroom(job->routes, 0);
	struct checks checks = {0};

	for (uint32_t at = 0; at < count; at += BLOCK) {
		struct lanes lanes;
		struct block block;
		uint8_t *frames[BLOCK];

		if (job->prefetch)
			prefetch_packets(job->prefetch, BLOCK);
		load_block(mbufs + at, headroom, &lanes, &block, frames, &checks);
		steer_block(job, &message, &lanes, &block);
		write_block(job->prebuilt, &block, frames, mbufs + at);
	}
	if (unlikely(checks.obstacles || checks.below >> 31 || count % BLOCK)) {
		fprintf(stderr, "fused: a burst that it cannot take\n");
		exit(EXIT_FAILURE);
	}
}

/* ahead: prefetches the next burst during this one. */
INLINE int run(struct worker *worker, bool ahead)
{
	const struct worker_shared *shared = worker->shared;
	const struct live_table *live = worker_shared_live(shared);
	struct flow_path *path = worker->paths;
	struct prebuilt_headers prebuilt[PREBUILT_COUNT];
	struct prefetch prefetch = {.frame_offset = mbuf_frame_offset(path->pool), .second = PREFETCH_FRAME_END_IPV4};
	struct lanes_job job = {.routes = live->routes,
		.next_hops = live->next_hops[0],
		.steering = worker->pipeline.steering,
		.prebuilt = &prebuilt[PREBUILT_INDEX(0, 0, 2)],
		.prefetch = ahead ? &prefetch : NULL};
	struct encapsulate_outer outer = worker->pipeline.outer;

	encapsulate_set_mac(outer.source_mac, *path->tx_mac);
	encapsulate_set_mac(outer.destination_mac, job.next_hops->mac);
	prebuilt_fill(prebuilt, &outer);
	while (!worker_shared_stopping(shared)) {
		struct rx_burst *current = &path->bursts[path->current],
				*next = &path->bursts[ahead ? !path->current : path->current];

		next->count = rte_eth_rx_burst(path->in.port, path->in.queue, next->mbufs, QUEUE_BURST);
		prefetch.next = (void *const *)next->mbufs;
		prefetch.left = next->count;
		steer_burst(&job, current->mbufs, current->count);
		rte_eth_tx_burst(path->out.port, path->out.queue, current->mbufs, current->count);
		current->count = 0;
		path->current = ahead ? !path->current : path->current;
	}
	return 0;
}

static int run_alone(void *worker)
{
	return run(worker, false);
}

static int run_ahead(void *worker)
{
	return run(worker, true);
}

const struct fused fused[FUSED_COUNT] = {{"no prefetch", run_alone}, {"prefetch of the next burst", run_ahead}};
#else
const struct fused fused[FUSED_COUNT];
#endif
