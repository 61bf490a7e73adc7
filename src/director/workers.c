/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/workers.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "director/director.h"
#include "program/log.h"
#include "worker/worker.h"

/* The rings of a PLAN_WORK path, to the worker and back. `back` is NULL if the worker transmits everything itself. */
struct rings {
	struct rte_ring *to, *back;
};

_Static_assert(PLAN_MAX_PORTS <= WORKER_MAX_PORTS, "each port has its next hops");

static struct worker *find_worker(const struct director *director, uint16_t lcore)
{
	for (uint16_t i = 0; i < director->workers.count; i++)
		if (director->workers.list[i]->lcore == lcore)
			return director->workers.list[i];
	return NULL;
}

static bool has_exceptions(const struct director *director)
{
	return director->conf.exception_path != CONF_EXCEPTION_NONE;
}

static struct queue ring_to(struct rte_ring *ring, struct worker *consumer)
{
	return (struct queue){
		.ring = ring,
		.bell = consumer->idle.may_sleep ? &consumer->idle.bell : NULL,
	};
}

static struct queue exception_queue(const struct director *director, const struct plan_flow_path *plan)
{
	const struct port *port = ports_exception(&director->ports, plan->rx_port);

	if (!port)
		return (struct queue){0};
	return (struct queue){
		.port = port->id,
		.queue = plan->rx_queue,
		.tun = director->conf.exception_path == CONF_EXCEPTION_TAP
			       ? RTE_MAX(port->rx_sources[plan->rx_queue].fd, 0)
			       : 0,
	};
}

static struct flow_path *add_path(const struct director *director, struct worker *worker,
	const struct plan_flow_path *plan, enum flow_path_kind kind)
{
	const struct port *rx = ports_find(&director->ports, plan->rx_port);
	const struct port *tx = ports_find(&director->ports, plan->tx_port);
	struct flow_path *path = &worker->paths[worker->path_count++];

	*path = (struct flow_path){
		.kind = kind,
		.in = {.port = plan->rx_port, .queue = plan->rx_queue},
		.out = {.port = plan->tx_port, .queue = plan->tx_queue},
		.source = &rx->rx_sources[plan->rx_queue],
		.exception = exception_queue(director, plan),
		.segments_allowed = tx->tx_segments,
		.pool = rx->pool,
		.descriptors = rx->rx_descriptors,
		.rx_mac = &rx->mac_number,
		.tx_mac = &tx->mac_number,
		.reply_to_sender = director->conf.gateway_auto && rx == tx,
	};
	path->tx_index = (uint16_t)(tx - director->ports.list);
	path->tx_port = tx->id;
	return path;
}

static void add_return(const struct director *director, struct worker *worker, const struct plan_flow_path *plan)
{
	const struct port *port = ports_find(&director->ports, plan->rx_port);
	const struct port *exception = ports_exception(&director->ports, plan->rx_port);
	struct flow_path *path = add_path(director, worker, plan, FLOW_PATH_RETURN);

	path->in = (struct queue){.port = exception->id, .queue = plan->rx_queue};
	path->out = (struct queue){.port = plan->rx_port, .queue = plan->return_queue};
	path->segments_allowed = port->tx_segments;
	path->tx_port = plan->rx_port;
	path->mtu = &port->mtu;
	path->source = &exception->rx_sources[plan->rx_queue];
}

static int create_rings(struct director *director, struct rings *rings)
{
	const struct plan *plan = &director->plan;

	for (uint16_t i = 0; i < plan->path_count; i++) {
		const struct plan_flow_path *path = &plan->paths[i];
		unsigned flags = RING_F_SP_ENQ | RING_F_SC_DEQ;
		int socket = (int)rte_lcore_to_socket_id(path->lcore);
		bool back = path->tx_queue == PLAN_HAND_BACK || has_exceptions(director);
		char name[RTE_RING_NAMESIZE];

		if (path->kind != PLAN_WORK)
			continue;
		snprintf(name, sizeof(name), "to-%u", i);
		rings[i].to = rte_ring_create(name, DISTRIBUTE_RING_SIZE, socket, flags);
		snprintf(name, sizeof(name), "back-%u", i);
		rings[i].back = back ? rte_ring_create(name, DISTRIBUTE_RING_SIZE, socket, flags) : NULL;
		if (!rings[i].to || (back && !rings[i].back)) {
			log_error("lcore %u: no memory for its rings: give EAL more memory (-m, or hugepages): %s",
				path->lcore, rte_strerror(rte_errno));
			return -ENOMEM;
		}
	}
	return 0;
}

/* Adds a path that receives and distributes, and a path for each ring that comes back from a worker. */
static int add_distributor(
	const struct director *director, struct worker *worker, uint16_t index, const struct rings *rings)
{
	const struct plan *plan = &director->plan;
	struct flow_path *path = add_path(director, worker, &plan->paths[index], FLOW_PATH_DISTRIBUTE);
	uint16_t count = 0;

	for (uint16_t i = 0; i < plan->path_count; i++)
		count += plan->paths[i].kind == PLAN_WORK && plan->paths[i].source == index;
	path->distributor = distribute_create(count, distribute_works_itself(count));
	if (!path->distributor) {
		log_error("lcore %u: no memory for its distributor: give EAL more memory (-m, or hugepages)",
			worker->lcore);
		return -ENOMEM;
	}
	count = 0;
	for (uint16_t i = 0; i < plan->path_count; i++) {
		const struct plan_flow_path *work = &plan->paths[i];

		if (work->kind != PLAN_WORK || work->source != index)
			continue;
		path->distributor->shares[count++].ring = ring_to(rings[i].to, find_worker(director, work->lcore));
		if (rings[i].back) /* the packets leave by the distributor's own queues */
			add_path(director, worker, &plan->paths[index], FLOW_PATH_COLLECT)->in =
				(struct queue){.ring = rings[i].back};
	}
	return 0;
}

static void add_work(const struct director *director, struct worker *worker, uint16_t index, const struct rings *rings)
{
	const struct plan_flow_path *plan = &director->plan.paths[index];
	uint16_t distributor = director->plan.paths[plan->source].lcore;
	struct flow_path *path = add_path(director, worker, plan, FLOW_PATH_STEER);

	path->in = (struct queue){.ring = rings[index].to};
	if (rings[index].back)
		path->exception = ring_to(rings[index].back, find_worker(director, distributor));
	if (plan->tx_queue == PLAN_HAND_BACK)
		path->out = path->exception;
}

static int add_planned(const struct director *director, uint16_t index, const struct rings *rings)
{
	const struct plan_flow_path *plan = &director->plan.paths[index];
	struct worker *worker = find_worker(director, plan->lcore);
	int error = 0;

	if (plan->kind == PLAN_WORK) {
		add_work(director, worker, index, rings);
		return 0;
	}
	if (plan->kind == PLAN_DIRECT)
		add_path(director, worker, plan, FLOW_PATH_STEER);
	else
		error = add_distributor(director, worker, index, rings);
	if (!error && has_exceptions(director))
		add_return(director, worker, plan);
	return error;
}

static void init_too_big_limit(struct worker *worker)
{
	uint8_t key[SIPHASH_KEY_SIZE];

	if (getrandom(key, sizeof(key), 0) != sizeof(key)) /* not for so few bytes, says getrandom(2) */
		memset(key, worker->index, sizeof(key));
	too_big_limit_init(&worker->too_big_limit, key, rte_rdtsc());
	worker->pipeline.too_big_limit = &worker->too_big_limit;
}

static struct worker *create(struct director *director, uint16_t index)
{
	const struct plan *plan = &director->plan;
	uint16_t lcore = plan->lcores[index];
	int socket = (int)rte_lcore_to_socket_id(lcore);
	struct worker *worker = rte_zmalloc_socket("worker", sizeof(*worker), RTE_CACHE_LINE_SIZE, socket);
	/* A planned path makes at most two flow paths: its own, and one that returns or collects packets. */
	struct flow_path *paths =
		rte_zmalloc_socket("paths", sizeof(*paths) * 2 * plan->path_count, RTE_CACHE_LINE_SIZE, socket);

	if (!worker || !paths || idle_open(&worker->idle, director->conf.idle == CONF_IDLE_SLEEP)) {
		log_error("lcore %u: no memory for its worker, or no file descriptor: give EAL more memory (-m, or hugepages), or raise the limit (ulimit -n)",
			lcore);
		rte_free(worker);
		rte_free(paths);
		return NULL;
	}
	worker->shared = &director->shared;
	worker->index = index;
	worker->lcore = lcore;
	worker->paths = paths;
	sample_begin(&worker->sampler, index);
	worker->pipeline.steering = &director->conf.steering;
	worker->exceptions.limits = &director->workers.limits;
	worker->pipeline.outer.source_ip = director->conf.outbound_src_ip;
	memcpy(worker->pipeline.outer.source_ip6, director->conf.outbound_src_ip6, 16);
	worker->pipeline.fast = lanes_by_isa[director->isa.isa];
	if (director->conf.steering.send_too_big)
		init_too_big_limit(worker);
	return worker;
}

int workers_create(struct director *director)
{
	struct rings rings[PLAN_MAX_PATHS] = {0};
	int error;

	director->workers.limits = exceptions_limits(
		director->conf.exception_limits.control, director->conf.exception_limits.other, rte_get_tsc_hz());
	for (uint16_t i = 0; i < director->plan.lcore_count; i++) {
		struct worker *worker = create(director, i);

		if (!worker)
			return -ENOMEM;
		director->workers.list[director->workers.count++] = worker;
	}
	error = reload_count_backends(&director->reload, director->workers.count);
	if (error)
		log_error("out of memory for the counters of backends");
	else
		error = create_rings(director, rings);
	for (uint16_t i = 0; i < director->plan.path_count && !error; i++)
		error = add_planned(director, i, rings);
	return error;
}

static void free_worker(struct worker *worker)
{
	for (uint16_t i = 0; i < worker->path_count; i++) {
		/* Each ring is the input of one path. Packets that are still in it are freed with their pool. */
		rte_ring_free(worker->paths[i].in.ring);
		rte_free(worker->paths[i].distributor);
	}
	idle_close(&worker->idle);
	rte_free(worker->paths);
	rte_free(worker);
}

void workers_free(struct workers *workers)
{
	for (uint16_t i = 0; i < workers->count; i++)
		free_worker(workers->list[i]);
	workers->count = 0;
}

void workers_sum(const struct workers *workers, struct counters *sum)
{
	*sum = (struct counters){0};
	for (uint16_t i = 0; i < workers->count; i++)
		counters_sum(sum, &workers->list[i]->counters);
}
