/* SPDX-License-Identifier: BSD-3-Clause */
/* From the plan to workers with their paths; main thread only. */
#include "worker.h"

#include <errno.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_malloc.h>

#include "log.h"

static void steer_path(
	struct path *path, const struct director *director, const struct plan_path *plan)
{
	const struct port *rx = director_port(director, plan->rx_port);
	const struct port *tx = director_port(director, plan->tx_port);

	*path = (struct path){
		.kind = PATH_STEER,
		.in = {.port = plan->rx_port, .queue = plan->rx_queue},
		.out = {.port = plan->tx_port, .queue = plan->tx_queue},
		.segments_allowed = tx->tx_segments,
		.pool = rx->pool,
	};
	memcpy(path->source_mac, tx->mac.addr_bytes, sizeof(path->source_mac));
}

static struct worker *create(struct director *director, uint16_t index)
{
	const struct plan *plan = &director->plan;
	uint16_t lcore = plan->lcores[index];
	int socket = (int)rte_lcore_to_socket_id(lcore);
	struct worker *worker =
		rte_zmalloc_socket("worker", sizeof(*worker), RTE_CACHE_LINE_SIZE, socket);
	struct path *paths = rte_zmalloc_socket(
		"paths", sizeof(*paths) * plan->path_count, RTE_CACHE_LINE_SIZE, socket);

	if (!worker || !paths) {
		log_error("lcore %u: out of memory: give EAL more (-m, or hugepages)", lcore);
		rte_free(worker);
		rte_free(paths);
		return NULL;
	}
	*worker = (struct worker){
		.director = director,
		.index = index,
		.lcore = lcore,
		.paths = paths,
		.pipeline = {.rules = &director->conf.rules,
			.outer = {.source_ip = director->conf.outbound_src_ip}},
	};
	for (uint16_t i = 0; i < plan->path_count; i++)
		if (plan->paths[i].lcore == lcore)
			steer_path(&paths[worker->path_count++], director, &plan->paths[i]);
	return worker;
}

int worker_create_all(struct director *director)
{
	for (uint16_t i = 0; i < director->plan.lcore_count; i++) {
		struct worker *worker = create(director, i);

		if (!worker)
			return -ENOMEM;
		director->workers[director->worker_count++] = worker;
	}
	return 0;
}

void worker_free_all(struct director *director)
{
	for (uint16_t i = 0; i < director->worker_count; i++) {
		rte_free(director->workers[i]->paths);
		rte_free(director->workers[i]);
	}
	director->worker_count = 0;
}
