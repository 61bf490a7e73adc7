/* SPDX-License-Identifier: BSD-3-Clause */
/* The main loop of a worker: iterations over its flow paths, sleep, parked ports, and the end. */
#include <time.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "worker/worker.h"

static bool holds_packets(const struct flow_path *path)
{
	return path->bursts[path->current].count || path->families[0].count || path->families[1].count ||
	       (path->in.ring && !rte_ring_empty(path->in.ring));
}

/* No packet waits in a ring to this worker, in its bursts or in its batches. */
static bool is_drained(const struct worker *worker)
{
	for (uint16_t i = 0; i < worker->active_count; i++)
		if (holds_packets(&worker->paths[i]))
			return false;
	return true;
}

/* Returns the number of packets received. */
static uint32_t run_paths(struct worker *worker)
{
	const struct live_table *live = worker_shared_live(worker->shared);
	uint32_t count = 0;

	for (uint16_t i = 0; i < worker->active_count; i++)
		count += flow_path_run(worker, &worker->paths[i], live);
	counters_add(&worker->counters.polls, 1);
	if (count == 0)
		counters_add(&worker->counters.empty_polls, 1);
	worker->unsettled += WATCHES ? count : 0;
	if (WATCHES && poll_gaps_due(worker->counters.polls, count)) {
		poll_gaps_take(&worker->gaps, rte_rdtsc(), worker->counters.polls, count);
		table_counts_settle(&live->counts, live->routes, worker->index, &worker->settler, worker->unsettled);
		worker->unsettled = 0;
		if (worker->counters.polls % SAMPLE_REGAIN == 0)
			sample_regain(&worker->sampler);
	}
	rte_rcu_qsbr_quiescent(worker->shared->qsbr, worker->index); /* `live` is not used any more */
	return count;
}

/*
 * After run_paths() has reported a quiescent state, orders may have come: then a port may be parked, and the worker may
 * not use it. The answer holds until the next quiescent state, because the thread that gives an order waits for that
 * one.
 */
static bool has_new_orders(const struct worker *worker)
{
	return worker_shared_orders(worker->shared) != worker->orders;
}

static void sleep_until_packets(struct worker *worker, bool armed)
{
	struct rte_rcu_qsbr *qsbr = worker->shared->qsbr;
	bool woken;

	counters_add(&worker->counters.sleeps, 1);
	rte_rcu_qsbr_thread_offline(qsbr, worker->index); /* so that a reload does not wait for it */
	woken = idle_sleep(&worker->idle);
	rte_rcu_qsbr_thread_online(qsbr, worker->index);
	poll_gaps_skip(&worker->gaps, rte_rdtsc());
	sample_rest(&worker->sampler);
	if (armed && !woken && !has_new_orders(worker) && run_paths(worker))
		idle_missed(&worker->idle);
}

static void sleep_if_drained(struct worker *worker)
{
	bool armed;

	doorbell_announce(&worker->idle.bell);
	if (has_new_orders(worker) || !is_drained(worker)) {
		doorbell_withdraw(&worker->idle.bell);
		return;
	}
	armed = idle_arm(&worker->idle);
	if (armed && run_paths(worker)) {
		doorbell_withdraw(&worker->idle.bell);
		worker->idle.empty_iterations = 0;
	} else {
		sleep_until_packets(worker, armed);
	}
	/* After an order, follow_orders() switches off the interrupts of the ports that are not parked. */
	if (!has_new_orders(worker))
		idle_disarm(&worker->idle);
}

static bool is_parked(const struct worker *worker, const struct flow_path *path)
{
	const struct worker_shared *shared = worker->shared;

	return (!path->in.ring && worker_shared_is_parked(shared, path->in.port)) ||
	       (!path->out.ring && worker_shared_is_parked(shared, path->out.port));
}

/* Begins to use the tap of the capture that runs, and lets go of the one before. */
static void follow_capture(struct worker *worker)
{
	struct tap *const *taps = __atomic_load_n(&worker->shared->taps, __ATOMIC_ACQUIRE);
	struct tap *tap = taps ? taps[worker->index] : NULL;

	worker->tap = worker->outbox.tap = worker->exceptions.tap = tap;
	worker->exceptions.control.tap = worker->exceptions.other.tap = tap;
	for (uint16_t i = 0; i < worker->path_count; i++)
		if (worker->paths[i].distributor)
			worker->paths[i].distributor->tap = tap;
}

/* Also moves the paths on parked ports behind the active ones. The lcore then waits only for the queues of these. */
static void follow_orders(struct worker *worker, uint16_t orders)
{
	uint16_t active_before = worker->active_count;

	worker->orders = orders;
	follow_capture(worker);
	idle_forget(&worker->idle);
	worker->active_count = 0;
	for (uint16_t i = 0; i < worker->path_count; i++) {
		struct flow_path *to = &worker->paths[worker->active_count], path = worker->paths[i];

		if (is_parked(worker, &path))
			continue;
		worker->paths[i] = *to;
		*to = path;
		worker->active_count++;
		if (path.source && !path.in.ring)
			idle_watch(&worker->idle, path.source, path.in.port, path.in.queue);
	}
	if (worker->active_count > active_before)
		idle_trust_again(&worker->idle); /* the reset of a port may have mended its interrupts */
	idle_disarm(&worker->idle);
}

static void worker_loop_iterate(struct worker *worker)
{
	uint32_t count = run_paths(worker);

	if (count == 0)
		rte_pause();
	if (idle_iteration(&worker->idle, count))
		sleep_if_drained(worker);
}

/* Frees and counts what a path on a parked port holds, because nobody may send it. */
static void worker_loop_discard(struct worker *worker, struct flow_path *path)
{
	struct rx_burst *burst = &path->bursts[path->current];
	struct rte_mbuf *mbufs[QUEUE_BURST];
	uint32_t count = burst->count;

	rte_pktmbuf_free_bulk(burst->mbufs, burst->count);
	burst->count = 0;
	for (unsigned i = 0; i < RTE_DIM(path->families); i++) {
		count += path->families[i].count;
		rte_pktmbuf_free_bulk(path->families[i].mbufs, path->families[i].count);
		path->families[i].count = 0;
	}
	for (uint16_t more = 1; path->in.ring && more; count += more) {
		more = queue_receive(&path->in, mbufs, QUEUE_BURST);
		rte_pktmbuf_free_bulk(mbufs, more);
	}
	counters_add(&worker->counters.verdicts[VERDICT_DROP_TX_FULL], count);
}

/* Returns the phase of the end in which the path gets its last packet. */
static enum drain_phase last_phase(const struct flow_path *path)
{
	if (!path->in.ring)
		return DRAIN_PORTS;
	return path->kind == FLOW_PATH_COLLECT ? DRAIN_COLLECT : DRAIN_WORK;
}

/*
 * Works on what the paths still hold, but receives from no port. Returns whether the paths that end in this phase
 * are empty.
 */
static bool drain_once(struct worker *worker, enum drain_phase phase)
{
	const struct live_table *live = worker_shared_live(worker->shared);
	bool empty = true;

	for (uint16_t i = 0; i < worker->path_count; i++) {
		struct flow_path *path = &worker->paths[i];

		if (i >= worker->active_count)
			worker_loop_discard(worker, path);
		else if (path->in.ring)
			flow_path_run(worker, path, live);
		else if (path->kind != FLOW_PATH_RETURN)
			flow_path_flush(worker, path, live);
		empty &= last_phase(path) != phase || !holds_packets(path);
	}
	return empty;
}

/*
 * Sends or counts all packets that are still in the director. The packets that a distributor has received go
 * through a ring to a worker, and perhaps through another ring back. So all workers pass each phase together: none
 * ends a phase while another may still fill a ring that must be empty after it. A worker that hangs cannot hold up
 * the others for longer than DRAIN_LIMIT_MS.
 */
static void worker_loop_drain(struct worker *worker)
{
	struct worker_drain *all = worker->shared->drain;
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 1000 * DRAIN_LIMIT_MS;
	const struct timespec nap = {.tv_nsec = 20000};

	for (unsigned phase = 0; phase < DRAIN_PHASES; phase++) {
		while (!drain_once(worker, phase) && rte_rdtsc() < end)
			rte_pause();
		if (!all)
			continue;
		__atomic_fetch_add(&all->arrived[phase], 1, __ATOMIC_ACQ_REL);
		while (__atomic_load_n(&all->arrived[phase], __ATOMIC_ACQUIRE) < all->workers && rte_rdtsc() < end) {
			drain_once(worker, phase);
			nanosleep(&nap, NULL);
		}
	}
}

int worker_run(void *argument)
{
	struct worker *worker = argument;
	const struct worker_shared *shared = worker->shared;

	rte_rcu_qsbr_thread_register(shared->qsbr, worker->index);
	rte_rcu_qsbr_thread_online(shared->qsbr, worker->index);
	poll_gaps_begin(&worker->gaps, rte_rdtsc(), worker->counters.polls, rte_get_tsc_hz());
	for (;;) {
		uint16_t orders = worker_shared_orders(shared);

		if (worker_shared_stopping(shared))
			break;
		follow_orders(worker, orders);
		while (worker_shared_orders(shared) == worker->orders)
			worker_loop_iterate(worker);
	}
	follow_orders(worker, worker_shared_orders(shared));
	worker_loop_drain(worker);
	rte_rcu_qsbr_thread_offline(shared->qsbr, worker->index);
	rte_rcu_qsbr_thread_unregister(shared->qsbr, worker->index);
	return 0;
}
