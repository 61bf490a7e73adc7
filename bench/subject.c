/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "packet/capture_messages.h"

#define DESCRIPTORS 2048

#define NEXT_HOP_MAC 0x010000000002 /* the first byte is the lowest, here and below */

static const uint64_t own_mac = 0x020000000002;
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
	sample_begin(&worker->sampler, index);
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
		.tx_mac = &own_mac,
	};
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

/* Backends with one next hop each have their own. With several, all backends have the same, as behind routers. */
static struct next_hops *make_next_hops(const struct routes *routes, unsigned each)
{
	uint32_t count = routes->address_count;
	struct next_hop *next_hops = calloc(count * each + 1, sizeof(*next_hops));
	struct next_hop_list *lists = calloc(count + 1, sizeof(*lists));
	struct next_hops *result;

	for (uint32_t i = 0; next_hops && lists && i < count; i++) {
		lists[i] = (struct next_hop_list){&next_hops[i * each], each};
		for (unsigned n = 0; n < each; n++)
			next_hops[i * each + n] = (struct next_hop){
				.id = n, .mac = NEXT_HOP_MAC + ((each > 1 ? n : i) * 0x100ull), .weight = 1};
	}
	result = each ? next_hops_create(lists, count) : next_hops_create_single(NEXT_HOP_MAC);
	free(next_hops);
	free(lists);
	return result;
}

void subject_open(
	struct subject *subject, uint16_t port, struct routes *routes, unsigned next_hops, struct rte_mempool *pool)
{
	*subject = (struct subject){.live = {.routes = routes, .generation = 1}};
	subject->shared.qsbr = allocate(rte_rcu_qsbr_get_memsize(LINE_QUEUES));
	rte_rcu_qsbr_init(subject->shared.qsbr, LINE_QUEUES);
	subject->shared.live = &subject->live;
	if (!table_counts_alloc(&subject->live.counts, routes, LINE_QUEUES)) {
		fprintf(stderr, "out of memory for counters\n");
		exit(EXIT_FAILURE);
	}
	subject->next_hops = make_next_hops(routes, next_hops);
	if (!subject->next_hops) {
		fprintf(stderr, "out of memory for next hops\n");
		exit(EXIT_FAILURE);
	}
	subject->live.next_hops[0] = subject->next_hops;
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
	rte_free(subject->taps[0]);
	rte_ring_free(subject->distributor->shares[0].ring.ring);
	rte_free(subject->distributor);
	rte_free(subject->shared.qsbr);
	table_counts_free(&subject->live.counts);
	next_hops_free(subject->next_hops);
}

void subject_set_exceptions(struct subject *subject, int tap, bool limited)
{
	subject->limits = exceptions_limits(10000, 1000, rte_get_tsc_hz());
	for (unsigned class = 0; class < EXCEPTION_CLASSES; class ++)
		subject->limits.buckets[class].full_at = rte_rdtsc() + subject->limits.buckets[class].depth;
	subject->steering.exception_path = tap >= 0;
	for (unsigned i = 0; i < LINE_QUEUES; i++) {
		subject->paths[i].exception.tun = tap;
		subject->workers[i]->exceptions.limits = limited ? &subject->limits : NULL;
	}
}

/* "ip src 192.0.2.1": no frame has this source. */
static const struct bpf_insn other_client[] = {
	BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0800, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 26),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xc0000201, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, CAPTURE_MAX_SNAPLEN),
	BPF_STMT(BPF_RET | BPF_K, 0),
};

void subject_set_capture(struct subject *subject, enum subject_capture capture)
{
	struct tap *tap = subject->taps[0];

	subject->shared.taps = NULL;
	if (capture == SUBJECT_NO_CAPTURE)
		return;
	subject->choice = (struct tap_choice){.program = capture == SUBJECT_CAPTURE_OF_NONE ? other_client : NULL,
		.verdicts = (2u << CAPTURE_RETURNED) - 1,
		.slot = -1,
		.snaplen = CAPTURE_MAX_SNAPLEN};
	if (!tap)
		tap = subject->taps[0] = allocate(sizeof(*tap) + tap_memory(&subject->choice));
	tap->steering = &subject->steering;
	tap_init(tap, &subject->choice, (uint8_t *)(tap + 1), rte_get_tsc_hz());
	subject->shared.taps = subject->taps;
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

void subject_take_other_mac(struct subject *subject)
{
	for (unsigned i = 0; i < LINE_QUEUES; i++)
		subject->paths[i].rx_mac = &own_mac;
}

void subject_limit_replies(struct subject *subject)
{
	static const uint8_t key[SIPHASH_KEY_SIZE];

	for (unsigned i = 0; i < LINE_QUEUES; i++) {
		struct worker *worker = subject->workers[i];

		too_big_limit_init(&worker->too_big_limit, key, rte_rdtsc());
		worker->pipeline.too_big_limit = &worker->too_big_limit;
	}
}
