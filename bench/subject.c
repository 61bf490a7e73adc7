/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#define DESCRIPTORS 2048

static const uint8_t gateway_mac[6] = {2, 0, 0, 0, 0, 1}, own_mac[6] = {2, 0, 0, 0, 0, 2};

static const uint64_t frames_mac = 0x020202020202; /* the destination of all frames, see packets.c */

static void *allocate(size_t size)
{
	void *memory = rte_zmalloc("subject", size, RTE_CACHE_LINE_SIZE);

	if (memory)
		return memory;
	fprintf(stderr, "out of memory for a worker\n");
	exit(EXIT_FAILURE);
}

static void add_worker(struct subject *subject, uint16_t index)
{
	struct worker *worker = allocate(sizeof(*worker));

	subject->workers[index] = worker;
	worker->shared = &subject->shared;
	worker->index = index;
	worker->path_count = 1;
	worker->paths = &subject->paths[index];
	worker->pipeline.steering = &subject->steering;
	worker->pipeline.outer.source_ip = 0x010200c0;
}

static void add_path(struct subject *subject, uint16_t index, uint16_t port, struct rte_mempool *pool)
{
	struct flow_path *path = &subject->paths[index];

	*path = (struct flow_path){
		.kind = FLOW_PATH_STEER,
		.in = {.port = port, .queue = index},
		.out = {.port = port, .queue = index},
		.exception = {.port = port, .queue = index},
		.segments_allowed = true,
		.pool = pool,
		.descriptors = DESCRIPTORS,
		.rx_mac = &frames_mac,
	};
	memcpy(path->source_mac, own_mac, sizeof(own_mac));
}

/* The same distributor as in workers.c for one worker, and with a transmit queue for each lcore. */
static void add_distributor(struct subject *subject)
{
	subject->distributor = distribute_create(1, distribute_works_itself(1));
	if (subject->distributor)
		subject->distributor->shares[0].ring.ring =
			rte_ring_create("to-1", DISTRIBUTE_RING_SIZE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!subject->distributor || !subject->distributor->shares[0].ring.ring) {
		fprintf(stderr, "out of memory for a ring\n");
		exit(EXIT_FAILURE);
	}
}

void subject_open(struct subject *subject, uint16_t port, struct routes *routes, struct rte_mempool *pool)
{
	*subject = (struct subject){.live = {.routes = routes, .generation = 1}};
	subject->shared.qsbr = allocate(rte_rcu_qsbr_get_memsize(LINE_QUEUES));
	rte_rcu_qsbr_init(subject->shared.qsbr, LINE_QUEUES);
	for (unsigned i = 0; i < TABLE_MAX_TABLES; i++)
		subject->live.slot[i] = (uint8_t)i;
	subject->shared.live = &subject->live;
	if (!backend_counts_alloc(&subject->live.backends, routes, LINE_QUEUES)) {
		fprintf(stderr, "out of memory for counters\n");
		exit(EXIT_FAILURE);
	}
	subject->next_hops.single = true;
	memcpy(&subject->next_hops.mac, gateway_mac, sizeof(gateway_mac));
	subject->live.next_hops[0] = &subject->next_hops;
	subject->steering = (struct steering_config){.hash_fields = STEERING_SOURCE_ADDRESS,
		.forward_ping = true,
		.outbound_mtu = 1500,
		.admission = {.accept = ADMISSION_LISTED, .drop_martians = true}};
	for (uint16_t i = 0; i < LINE_QUEUES; i++) {
		add_worker(subject, i);
		add_path(subject, i, port, pool);
	}
	add_distributor(subject);
}

void subject_close(struct subject *subject)
{
	for (unsigned i = 0; i < LINE_QUEUES; i++)
		rte_free(subject->workers[i]);
	rte_ring_free(subject->distributor->shares[0].ring.ring);
	rte_free(subject->distributor);
	rte_free(subject->shared.qsbr);
	backend_counts_free(&subject->live.backends);
}

void subject_arrange(struct subject *subject, bool distributor, lanes_fn *fast)
{
	subject->paths[0].kind = distributor ? FLOW_PATH_DISTRIBUTE : FLOW_PATH_STEER;
	subject->paths[0].distributor = subject->distributor;
	subject->paths[1].in.ring = distributor ? subject->distributor->shares[0].ring.ring : NULL;
	for (unsigned i = 0; i < LINE_QUEUES; i++)
		subject->workers[i]->pipeline.fast = fast;
	subject->shared.stop = false;
}
