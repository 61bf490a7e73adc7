/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint16_t at_most(uint16_t value, uint16_t limit)
{
	return value < limit ? value : limit;
}

static struct plan_port *find_port(struct plan *plan, uint16_t id)
{
	for (uint16_t i = 0; i < plan->port_count; i++)
		if (plan->ports[i].id == id)
			return &plan->ports[i];
	return NULL;
}

static void add_path(struct plan *plan, struct faults *faults, struct plan_flow_path path)
{
	if (plan->path_count == PLAN_MAX_PATHS) {
		faults_error(faults, NULL,
			"the lcores and queues need more than %d flow paths: use fewer lcores or queues", PLAN_MAX_PATHS);
		return;
	}
	path.return_queue = path.tx_queue;
	find_port(plan, path.tx_port)->forwards = true;
	plan->paths[plan->path_count++] = path;
}

/*
 * The default: gives every lcore a queue pair of the port, or several. If there are fewer queue pairs than lcores, the
 * lcores that have one distribute packets to the others.
 */
static void add_port(struct plan *plan, struct plan_port *port, const struct conf *conf, const uint16_t *lcores,
	uint16_t lcore_count, struct faults *faults)
{
	uint16_t offered = at_most(port->max_rx_queues, port->max_tx_queues);
	uint16_t useful = port->fills_one_queue ? at_most(offered, 1) : at_most(offered, lcore_count);
	uint16_t wanted = conf->num_worker_queues ? conf->num_worker_queues : useful;
	uint16_t receivers = at_most(wanted, lcore_count);
	bool own_queues = port->max_tx_queues >= lcore_count;

	if (wanted == 0 || wanted > offered) {
		faults_error(faults, "num_worker_queues",
			"%u queue pairs are wanted, but port %u has %u rx and %u tx queues", wanted, port->id,
			port->max_rx_queues, port->max_tx_queues);
		return;
	}
	port->rx_queues = wanted;
	port->tx_queues = wanted;
	for (uint16_t queue = 0; queue < wanted; queue++) {
		uint16_t lcore = queue % receivers;
		uint16_t source = plan->path_count;
		struct plan_flow_path path = {
			.lcore = lcores[lcore],
			.kind = receivers + lcore < lcore_count ? PLAN_DISTRIBUTE : PLAN_DIRECT,
			.rx_port = port->id,
			.rx_queue = queue,
			.tx_port = port->id,
			.tx_queue = queue,
		};

		add_path(plan, faults, path);
		path.kind = PLAN_WORK;
		path.source = source;
		for (uint16_t i = receivers + lcore; i < lcore_count; i += receivers) {
			path.lcore = lcores[i];
			path.tx_queue = own_queues ? port->tx_queues++ : PLAN_HAND_BACK;
			add_path(plan, faults, path);
		}
	}
}

static const char *check_flow_path(struct plan *plan, const struct conf_flow_path *path)
{
	const struct plan_port *rx = find_port(plan, path->rx_port), *tx = find_port(plan, path->tx_port);

	if (!rx)
		return "rx_port: DPDK has no such port";
	if (!tx)
		return "tx_port: DPDK has no such port";
	if (path->rx_queue >= rx->max_rx_queues)
		return "rx_queue: the port has fewer rx queues";
	if (path->tx_queue >= tx->max_tx_queues)
		return "tx_queue: the port has fewer tx queues";
	return NULL;
}

static void count_queues(struct plan *plan, const struct conf *conf, struct faults *faults)
{
	for (uint16_t i = 0; i < conf->flow_path_count; i++) {
		const struct conf_flow_path *path = &conf->flow_paths[i];
		const char *problem = check_flow_path(plan, path);
		struct plan_port *rx = find_port(plan, path->rx_port);
		struct plan_port *tx = find_port(plan, path->tx_port);
		char where[32];

		if (problem) {
			snprintf(where, sizeof(where), "flow_paths[%u]", i);
			faults_error(faults, where, "%s (%u)", problem,
				!rx                 ? path->rx_port
				: !tx               ? path->tx_port
				: problem[0] == 'r' ? path->rx_queue
						    : path->tx_queue);
			continue;
		}
		if (rx->rx_queues <= path->rx_queue)
			rx->rx_queues = path->rx_queue + 1;
		if (tx->tx_queues <= path->tx_queue)
			tx->tx_queues = path->tx_queue + 1;
	}
}

/* Adds a path for each worker of a distributor. A worker transmits itself if the port still has a transmit queue for
 * it. */
static void add_workers(struct plan *plan, const struct conf *conf, uint16_t source, struct faults *faults)
{
	struct plan_flow_path path = plan->paths[source];
	struct plan_port *port = find_port(plan, path.tx_port);
	uint16_t distributor = path.lcore;

	path.kind = PLAN_WORK;
	path.source = source;
	for (uint16_t i = 0; i < conf->lcore_count; i++) {
		if (!conf->lcores[i].work || conf->lcores[i].work_source != distributor)
			continue;
		path.lcore = conf->lcores[i].id;
		path.tx_queue = port->tx_queues < port->max_tx_queues ? port->tx_queues++ : PLAN_HAND_BACK;
		add_path(plan, faults, path);
	}
}

static bool lcore_exists(const uint16_t *lcores, uint16_t lcore_count, uint16_t id)
{
	for (uint16_t i = 0; i < lcore_count; i++)
		if (lcores[i] == id)
			return true;
	return false;
}

static void add_configured(
	struct plan *plan, const struct conf *conf, const uint16_t *lcores, uint16_t lcore_count, struct faults *faults)
{
	count_queues(plan, conf, faults);
	for (uint16_t i = 0; i < conf->lcore_count; i++) {
		const struct conf_lcore *lcore = &conf->lcores[i];
		char where[32];

		if (!lcore_exists(lcores, lcore_count, lcore->id)) {
			snprintf(where, sizeof(where), "lcores.lcore-%u", lcore->id);
			faults_error(faults, where,
				"EAL has no worker lcore %u: add it to -l or --lcores, in addition to the main lcore",
				lcore->id);
		}
	}
	if (faults->errors)
		return;
	for (uint16_t i = 0; i < conf->lcore_count; i++) {
		const struct conf_lcore *lcore = &conf->lcores[i];

		for (uint16_t j = 0; j < lcore->flow_path_count; j++) {
			const struct conf_flow_path *flow = &conf->flow_paths[lcore->flow_paths[j]];
			uint16_t index = plan->path_count;

			add_path(plan, faults,
				(struct plan_flow_path){
					.lcore = lcore->id,
					.kind = lcore->dist ? PLAN_DISTRIBUTE : PLAN_DIRECT,
					.rx_port = flow->rx_port,
					.rx_queue = flow->rx_queue,
					.tx_port = flow->tx_port,
					.tx_queue = flow->tx_queue,
				});
			if (lcore->dist && !faults->errors)
				add_workers(plan, conf, index, faults);
		}
	}
}

/*
 * Chooses the transmit queue for packets from the exception path. They leave by the port that the exception path
 * belongs to, by a queue that only this lcore uses.
 */
static void find_return_queue(struct plan *plan, struct plan_flow_path *path, struct faults *faults)
{
	struct plan_port *port = find_port(plan, path->rx_port);

	if (path->tx_port == path->rx_port)
		return;
	for (uint16_t i = 0; i < plan->path_count; i++) {
		const struct plan_flow_path *other = &plan->paths[i];

		if (other->lcore == path->lcore && other->kind != PLAN_WORK && other->tx_port == path->rx_port) {
			path->return_queue = other->tx_queue;
			return;
		}
	}
	if (port->tx_queues == port->max_tx_queues) {
		faults_error(faults, "exception_path",
			"port %u has no tx queue left for lcore %u to send the packets that the kernel sends", port->id,
			path->lcore);
		return;
	}
	path->return_queue = port->tx_queues++;
}

static void list_lcores(struct plan *plan)
{
	for (uint16_t i = 0; i < plan->path_count; i++)
		if (!lcore_exists(plan->lcores, plan->lcore_count, plan->paths[i].lcore))
			plan->lcores[plan->lcore_count++] = plan->paths[i].lcore;
}

int plan_make(
	struct plan *plan, const struct conf *conf, const uint16_t *lcores, uint16_t lcore_count, struct faults *faults)
{
	size_t errors = faults->errors;

	plan->path_count = plan->lcore_count = 0;
	lcore_count = at_most(lcore_count, PLAN_MAX_LCORES);
	for (uint16_t i = 0; i < plan->port_count; i++)
		plan->ports[i].rx_queues = plan->ports[i].tx_queues = plan->ports[i].forwards = 0;
	if (conf->lcore_count)
		add_configured(plan, conf, lcores, lcore_count, faults);
	else
		for (uint16_t i = 0; i < plan->port_count; i++)
			add_port(plan, &plan->ports[i], conf, lcores, lcore_count, faults);
	if (conf->exception_path != CONF_EXCEPTION_NONE)
		for (uint16_t i = 0; i < plan->path_count; i++)
			if (plan->paths[i].kind != PLAN_WORK)
				find_return_queue(plan, &plan->paths[i], faults);
	if (faults->errors > errors)
		return -EINVAL;
	list_lcores(plan);
	return 0;
}
