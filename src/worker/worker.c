/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/worker.h"

#include <string.h>

#include <rte_cycles.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "packet/icmp/too_big.h"
#include "worker/counts/bind_sample.h"
#include "worker/mbuf.h"
#include "worker/tap/tap.h"

/* After a burst with both families, the following bursts are split by family for this number of iterations. */
#define SPLIT_ITERATIONS 256

/* A packet waits at most this number of iterations for other packets of its family. */
#define WAIT_ITERATIONS 4

/* A flow path sends fewer packets than this in one iteration: its current burst and a burst of each family. */
#define ITERATION_MAX (4 * QUEUE_BURST)

/* There are two copies of steer_with(). Without this, gcc would call the functions with which it shares its steps. */
#define INLINE static inline __attribute__((always_inline))

static void worker_drop(struct worker *worker, struct rte_mbuf *mbuf, uint8_t verdict)
{
	counters_add(&worker->counters.verdicts[verdict], 1);
	rte_pktmbuf_free(mbuf);
}

/* Makes the mbuf writable, or a copy of it, with room for the outer headers. False: there is no buffer for that. */
static bool make_ready(struct worker *worker, const struct flow_path *path, struct rte_mbuf **mbuf, uint32_t headroom)
{
	struct rte_mbuf *writable = *mbuf;

	if (!mbuf_is_writable(writable)) {
		counters_add(&worker->counters.slow_path, 1);
		writable = mbuf_make_writable(writable, path->pool);
		if (!writable)
			return false;
		*mbuf = writable;
	}
	return headroom <= RTE_PKTMBUF_HEADROOM || mbuf_make_room(writable, headroom, path->pool);
}

/*
 * load_mbufs() if some mbufs are not writable, or have too little room for the outer headers. Packets for which there
 * is no buffer are dropped, and the others move up in mbufs[]. Returns the number of packets left.
 */
static uint16_t load_with_copies(
	struct worker *worker, const struct flow_path *path, struct rte_mbuf **mbufs, uint16_t count, uint32_t headroom)
{
	uint16_t lanes = 0;

	for (uint16_t i = 0; i < count; i++) {
		struct rte_mbuf *mbuf = mbufs[i];

		if (!make_ready(worker, path, &mbuf, headroom)) {
			if (worker->tap)
				tap_single(worker->tap, mbuf, VERDICT_DROP_NO_BUFFER, mbuf->port, CAPTURE_NO_PORT);
			worker_drop(worker, mbuf, VERDICT_DROP_NO_BUFFER);
			continue;
		}
		mbuf_to_lane(mbuf, &worker->burst, lanes);
		mbufs[lanes++] = mbuf;
	}
	return lanes;
}

/*
 * Loads the mbufs into the burst, one lane per packet. True: all were writable and had room for the outer headers, so
 * mbufs[] is unchanged. Drivers leave RTE_PKTMBUF_HEADROOM, which is too little for more than five IPv6 hops.
 */
INLINE bool load_mbufs(struct worker *worker, const struct flow_path *path, const struct live_table *live,
	struct rte_mbuf **mbufs, uint16_t count)
{
	uint32_t headroom = routes_headroom(live->routes, worker->pipeline.steering->alt_hash_fields);
	uint64_t obstacles = headroom > RTE_PKTMBUF_HEADROOM;

	for (uint16_t i = 0; i < count; i++) {
		obstacles |= mbuf_obstacles(mbufs[i]);
		mbuf_to_lane(mbufs[i], &worker->burst, i);
	}
	worker->burst.count = likely(!obstacles) ? count : load_with_copies(worker, path, mbufs, count, headroom);
	return !obstacles;
}

/* Tells the pipeline what may have changed since the last burst: the table, the next hops, the MAC and the
 * rate limit. */
INLINE void prepare(struct worker *worker, const struct flow_path *path, const struct live_table *live)
{
	struct pipeline *pipeline = &worker->pipeline;

	pipeline->routes = live->routes;
	pipeline->next_hops = __atomic_load_n(&live->next_hops[path->tx_index], __ATOMIC_ACQUIRE);
	pipeline->port_mac = __atomic_load_n(path->rx_mac, __ATOMIC_RELAXED);
	encapsulate_set_mac(pipeline->outer.source_mac, __atomic_load_n(path->tx_mac, __ATOMIC_RELAXED));
	pipeline->reply_to_sender = path->reply_to_sender;
	if (pipeline->too_big_limit)
		too_big_limit_tick(pipeline->too_big_limit, rte_rdtsc(), rte_get_tsc_hz());
}

static void count_refusal(struct counters *counters, uint8_t refusal)
{
	if (refusal == TOO_BIG_LIMITED)
		counters_add(&counters->too_big_limited, 1);
	else if (refusal == TOO_BIG_WITHOUT_DF)
		counters_add(&counters->too_big_without_df, 1);
}

_Static_assert(offsetof(struct counters, quic_routed) + (QUIC_FATES - QUIC_ROUTED) * sizeof(uint64_t) ==
		       offsetof(struct counters, exception_neighbour),
	"the counters of QUIC are in the order of enum quic_fate");

/* Lanes behind the last packet have QUIC_NONE. The number of lanes is constant, so that the loops are vectorised. */
static uint8_t lanes_of_fate(const struct burst *burst, unsigned fate)
{
	uint8_t count = 0;

	for (unsigned lane = 0; lane < BURST_MAX; lane++)
		count += burst->quic[lane] == fate;
	return count;
}

static __attribute__((noinline)) void count_quic(struct counters *counters, const struct burst *burst)
{
	uint32_t left = BURST_MAX - lanes_of_fate(burst, QUIC_NONE);

	for (unsigned fate = QUIC_ROUTED; left && fate < QUIC_FATES; fate++) {
		uint8_t count = lanes_of_fate(burst, fate);

		if (count)
			counters_add(&counters->quic_routed + fate - QUIC_ROUTED, count);
		left -= count;
	}
}

INLINE void finish_lane(struct worker *worker, const struct flow_path *path, const struct live_table *live,
	uint32_t lane, struct rte_mbuf *mbuf)
{
	struct burst *burst = &worker->burst;
	uint8_t verdict = burst->verdict[lane];

	if (likely(verdict == VERDICT_FORWARDED || verdict == VERDICT_ANSWERED_TOO_BIG)) {
		if (likely(mbuf_commit(mbuf, burst->out[lane], burst->out_size[lane], path->segments_allowed))) {
			/* Moved to the place of the packet in the outbox, for count_backends(). */
			burst->backend[worker->outbox.count] = burst->backend[lane];
			outbox_put(&worker->outbox, mbuf, verdict, 0);
		} else {
			burst->verdict[lane] = VERDICT_DROP_NO_BUFFER; /* for the tap */
			worker_drop(worker, mbuf, VERDICT_DROP_NO_BUFFER);
		}
	} else if (verdict == VERDICT_EXCEPTION) {
		mbuf->ol_flags = 0; /* the flags of the receiving driver */
		exceptions_put(&worker->exceptions, mbuf);
	} else {
		if (verdict == VERDICT_UNDERLAY_TOO_BIG)
			underlay_notes_put(&worker->underlay_notes, &burst->underlay[lane]);
		if (verdict == VERDICT_DROP_TOO_BIG)
			count_refusal(&worker->counters, burst->refusal[lane]);
		if (verdict == VERDICT_DROP_NO_NEXT_HOP)
			counters_add(&count_rows_of(&live->counts.backends, BACKEND_NO_NEXT_HOP,
					     worker->index)[burst->backend[lane]],
				1);
		worker_drop(worker, mbuf, verdict);
	}
}

static bool all_forwarded(const struct burst *burst)
{
	uint8_t others = 0;

	for (uint32_t lane = 0; lane < burst->count; lane++)
		others |= burst->verdict[lane];
	return others == VERDICT_FORWARDED;
}

/* Counts the first `sent` packets for their backends, `weight` times. outcomes: of these packets; NULL if all are
 * forwarded. */
static void count_backends(const struct worker *worker, const struct live_table *live, const struct outcome *outcomes,
	const uint32_t *sizes, uint16_t sent, uint32_t weight)
{
	uint64_t *tallies = count_rows_of(&live->counts.backends, BACKEND_TALLY, worker->index);

#pragma GCC unroll 4
	for (uint16_t i = 0; i < sent; i++)
		if (!outcomes || outcomes[i].verdict == VERDICT_FORWARDED)
			tally_add(&tallies[worker->burst.backend[i]], sizes[i], weight);
}

INLINE void commit(const struct burst *burst, struct rte_mbuf **mbufs)
{
#pragma GCC unroll 4
	for (uint32_t lane = 0; lane < burst->count; lane++)
		mbuf_commit_single(mbufs[lane], burst->out[lane], burst->out_size[lane]);
}

/* transmit_forwarded() of a burst that counts. */
static __attribute__((noinline)) void send_counted(struct worker *worker, const struct flow_path *path,
	const struct live_table *live, struct rte_mbuf **mbufs, struct sample_weights weights)
{
	const struct burst *burst = &worker->burst;
	struct bind_sample sample = {0};
	uint16_t sent;

	if (weights.bind)
		sample = bind_sample_take(&worker->sampler, mbufs, burst->count, weights.bind, live->routes);
	sent = transmit_forwarded(&path->out, mbufs, burst, &worker->counters);
	count_backends(worker, live, NULL, burst->out_size, sent, weights.backend);
	if (sample.weight)
		bind_sample_count(&sample, sent, live, worker->index);
}

/*
 * Finishes, sends and counts the most frequent kind of burst without the outbox: all packets are forwarded, all mbufs
 * have one segment, and no capture runs. No packet of such a burst is an exception.
 */
INLINE void send_forwarded(
	struct worker *worker, const struct flow_path *path, const struct live_table *live, struct rte_mbuf **mbufs)
{
	const struct burst *burst = &worker->burst;
	struct sample_weights weights = {0};

	if (WATCHES)
		weights = sample_burst(&worker->sampler, burst->count);
	commit(burst, mbufs);
	if (unlikely(weights.backend))
		send_counted(worker, path, live, mbufs, weights);
	else
		transmit_forwarded(&path->out, mbufs, burst, &worker->counters);
}

/* tap: a constant NULL if no capture runs, so that nothing is left of its steps. */
INLINE void steer_with(struct tap *tap, struct worker *worker, const struct flow_path *path,
	const struct live_table *live, struct rte_mbuf **mbufs, uint16_t count)
{
	struct sample_weights weights = {0};
	struct bind_sample sample = {0};
	uint16_t sent;
	bool writable = load_mbufs(worker, path, live, mbufs, count);

	prepare(worker, path, live);
	if (tap)
		tap_before(tap, &worker->burst, mbufs, live, path->tx_port);
	pipeline_run(&worker->pipeline, &worker->burst);
	if (tap)
		tap_between(tap, &worker->burst, mbufs);
	if (unlikely(live->routes->quic))
		count_quic(&worker->counters, &worker->burst);
	if (worker->burst.general_path)
		counters_add(&worker->counters.general_path, worker->burst.general_path);
	if (likely(!tap && writable && all_forwarded(&worker->burst))) {
		send_forwarded(worker, path, live, mbufs);
		return;
	}
	for (uint32_t lane = 0; lane < worker->burst.count; lane++)
		finish_lane(worker, path, live, lane, mbufs[lane]);
	if (tap)
		tap_ready(tap, &worker->burst);
	if (WATCHES)
		weights = sample_burst(&worker->sampler, worker->outbox.count);
	if (weights.bind)
		sample = bind_sample_choose(&worker->sampler, &worker->outbox, weights.bind, live->routes);
	sent = transmit(&path->out, &worker->outbox, &worker->counters);
	if (weights.backend)
		count_backends(worker, live, worker->outbox.outcomes, worker->outbox.sizes, sent, weights.backend);
	if (sample.weight)
		bind_sample_count(&sample, sent, live, worker->index);
	exceptions_send(&worker->exceptions, &path->exception, &worker->counters);
	if (tap)
		tap_after(tap);
}

static __attribute__((noinline, cold)) void steer_tapped(struct worker *worker, const struct flow_path *path,
	const struct live_table *live, struct rte_mbuf **mbufs, uint16_t count)
{
	steer_with(worker->tap, worker, path, live, mbufs, count);
}

static void worker_steer(struct worker *worker, const struct flow_path *path, const struct live_table *live,
	struct rte_mbuf **mbufs, uint16_t count)
{
	if (WATCHES && unlikely(worker->tap))
		steer_tapped(worker, path, live, mbufs, count);
	else
		steer_with(NULL, worker, path, live, mbufs, count);
}

static void worker_collect(struct worker *worker, const struct flow_path *path, struct rte_mbuf **mbufs, uint16_t count)
{
	for (uint16_t i = 0; i < count; i++) {
		struct outcome outcome = transmit_outcome(mbufs[i]);

		if (outcome.verdict == VERDICT_EXCEPTION)
			exceptions_put_sorted(&worker->exceptions, mbufs[i], outcome.class);
		else
			outbox_put(&worker->outbox, mbufs[i], outcome.verdict, 0);
	}
	transmit(&path->out, &worker->outbox, &worker->counters);
	exceptions_send(&worker->exceptions, &path->exception, &worker->counters);
}

/* The port drops, or its driver truncates, a frame that is longer than its MTU allows. */
static bool may_be_returned(const struct flow_path *path, const struct rte_mbuf *mbuf)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t mtu = __atomic_load_n(path->mtu, __ATOMIC_RELAXED);

	if (mbuf->nb_segs > 1 && !path->segments_allowed)
		return false;
	return mbuf->data_len >= NET_ETHERNET_SIZE &&
	       mbuf->pkt_len <= mtu + NET_ETHERNET_SIZE + (net_is_tag(load_be16(frame + 12)) ? NET_TAG_SIZE : 0);
}

static void return_packets(struct worker *worker, const struct flow_path *path, struct rte_mbuf **mbufs, uint16_t count)
{
	for (uint16_t i = 0; i < count; i++) {
		if (!may_be_returned(path, mbufs[i])) {
			counters_add(&worker->counters.exception_return_refused, 1);
			rte_pktmbuf_free(mbufs[i]);
			continue;
		}
		if (unlikely(worker->tap))
			tap_single(worker->tap, mbufs[i], OUTCOME_RETURNED, CAPTURE_NO_PORT, path->tx_port);
		mbufs[i]->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
		outbox_put(&worker->outbox, mbufs[i], OUTCOME_RETURNED, 0);
	}
	transmit(&path->out, &worker->outbox, &worker->counters);
}

/* If a worker sends to its distributor's ring, it receives only while that ring has room for all that it may send. */
static bool may_receive(struct flow_path *path)
{
	const struct rte_ring *back = path->out.ring ? path->out.ring : path->exception.ring;

	if (path->kind == FLOW_PATH_DISTRIBUTE)
		return distribute_ready(path->distributor, &path->in, path->descriptors);
	return !back || rte_ring_free_count(back) >= ITERATION_MAX;
}

static bool is_ipv6(const struct rte_mbuf *mbuf)
{
	return load_be16(rte_pktmbuf_mtod(mbuf, const uint8_t *) + 12) == NET_TYPE_IPV6;
}

/* Appends the packets of the burst to the batch of their family. Without a branch per packet, which would be
 * mispredicted. */
static void split_families(struct family_batch families[2], const struct rx_burst *current)
{
	uint16_t v6 = families[0].count, rest = families[1].count;

	for (uint16_t i = 0; i < current->count; i++) {
		bool is_v6 = is_ipv6(current->mbufs[i]);

		families[0].mbufs[v6] = families[1].mbufs[rest] = current->mbufs[i];
		v6 += is_v6;
		rest += !is_v6;
	}
	families[0].count = v6;
	families[1].count = rest;
}

static void steer_family(
	struct worker *worker, const struct flow_path *path, const struct live_table *live, struct family_batch *batch)
{
	uint16_t count = RTE_MIN(batch->count, QUEUE_BURST);

	if (count)
		worker_steer(worker, path, live, batch->mbufs, count);
	batch->count -= count;
	batch->waited = 0;
	memcpy(batch->mbufs, batch->mbufs + QUEUE_BURST, batch->count * sizeof(*batch->mbufs));
}

/*
 * Steers the current burst. The fast path works on one family at a time, and a half-empty vector takes as long as a
 * full one. Therefore, while full bursts of both families arrive, packets are gathered over a few iterations until
 * there is a full burst of one family. A flow has only one family, so its packets stay in order. more: the next burst
 * is full, too.
 */
static void steer_families(struct worker *worker, struct flow_path *path, const struct live_table *live, bool more)
{
	struct rx_burst *current = &path->bursts[path->current];
	bool split = path->split_left && more && current->count == QUEUE_BURST;

	if (split)
		split_families(path->families, current);
	for (unsigned b = 0; b < RTE_DIM(path->families); b++) {
		struct family_batch *batch = &path->families[b];

		if (!split || batch->count >= QUEUE_BURST || ++batch->waited >= WAIT_ITERATIONS)
			steer_family(worker, path, live, batch);
	}
	path->split_left -= path->split_left > 0;
	if (split || !current->count)
		return;
	worker_steer(worker, path, live, current->mbufs, current->count);
	if (worker->burst.mixed)
		path->split_left = SPLIT_ITERATIONS;
}

/* Distributes the current burst and steers the distributor's own share. */
static void distribute_current(struct worker *worker, struct flow_path *path, const struct live_table *live)
{
	struct rx_burst *current = &path->bursts[path->current];
	struct distribute_share *own =
		distribute_burst(path->distributor, current->mbufs, current->count, &worker->counters);

	if (!own)
		return;
	if (own->count)
		worker_steer(worker, path, live, own->mbufs, own->count);
	own->count = 0;
}

/* Because of mbuf_private_size(), outer headers with IPv4 start in the first cache line of the frame. */
static struct prefetch prefetch_of(const struct routes *routes, struct rte_mempool *pool)
{
	int32_t end = routes->portmap->v6_levels ? PREFETCH_FRAME_END : PREFETCH_FRAME_END_IPV4;
	struct prefetch prefetch = {.frame_offset = mbuf_frame_offset(pool), .second = end};

	if (routes->ipv6) {
		prefetch.second = -(int32_t)encapsulate_outer_size(true, 2); /* most packets have two hops */
		prefetch.third = prefetch.frame_offset % RTE_CACHE_LINE_SIZE + end < RTE_CACHE_LINE_SIZE ? 0 : end;
	}
	return prefetch;
}

/*
 * Receives the next burst and works on the current one, while the headers of the next are prefetched into the caches.
 * The next burst is steered in the next iteration, even if no packet arrives then. Returns the number of packets
 * received. closed: receives nothing.
 */
static uint16_t run_ahead(struct worker *worker, struct flow_path *path, const struct live_table *live, bool closed)
{
	struct rx_burst *current = &path->bursts[path->current], *next = &path->bursts[!path->current];
	struct prefetch *prefetch = &worker->pipeline.prefetch;

	next->count = closed ? 0 : queue_receive(&path->in, next->mbufs, QUEUE_BURST);
	if (!path->in.ring)
		counters_add(&worker->counters.received, next->count);
	*prefetch = prefetch_of(live->routes, path->pool);
	prefetch->next = (void *const *)next->mbufs;
	prefetch->left = next->count;
	if (path->kind == FLOW_PATH_DISTRIBUTE)
		distribute_current(worker, path, live);
	else
		steer_families(worker, path, live, next->count == QUEUE_BURST);
	prefetch_packets(prefetch, prefetch->left);
	current->count = 0;
	path->current = !path->current;
	return next->count;
}

uint16_t flow_path_run(struct worker *worker, struct flow_path *path, const struct live_table *live)
{
	struct rte_mbuf *mbufs[QUEUE_BURST];
	uint16_t count;

	if (!may_receive(path))
		return 0;
	if (path->kind == FLOW_PATH_STEER || path->kind == FLOW_PATH_DISTRIBUTE)
		return run_ahead(worker, path, live, false);
	count = queue_receive(&path->in, mbufs, QUEUE_BURST);
	if (count && path->kind == FLOW_PATH_COLLECT)
		worker_collect(worker, path, mbufs, count);
	else if (count)
		return_packets(worker, path, mbufs, count);
	return count;
}

void flow_path_flush(struct worker *worker, struct flow_path *path, const struct live_table *live)
{
	run_ahead(worker, path, live, true);
}
