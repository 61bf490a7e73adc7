/* SPDX-License-Identifier: BSD-3-Clause */
#include "line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#define PRIVATE_SIZE 40 /* as the director's own pools (port.c) */
#define ELEMENT_SIZE (sizeof(struct rte_mbuf) + PRIVATE_SIZE + RTE_MBUF_DEFAULT_BUF_SIZE)
#define HUGE_PAGE    (2u << 20)

static uint16_t receive(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	struct line *line = queue;
	uint32_t left = line->count - line->at;

	if (count > line->burst)
		count = line->burst;
	if (count > left)
		count = (uint16_t)left;
	if (line->at == 0 && !line->flushed)
		line->begin = rte_rdtsc_precise();
	if (count == 0) {
		if (line->flushed) {
			line->end = rte_rdtsc_precise();
			*line->stop = true;
		}
		line->flushed = true;
		return 0;
	}
	memcpy(mbufs, line->mbufs + line->at, count * sizeof(*mbufs));
	line->at += count;
	return count;
}

static uint16_t take(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	struct line *line = queue;

	(void)mbufs;
	line->sent += count;
	return count;
}

/* As with hugepages: frames side by side, and no misses of the TLB that a deployment would not
 * have. */
static struct rte_mempool *create_pool(const struct line *line)
{
	struct rte_pktmbuf_pool_private own = {
		.mbuf_data_room_size = RTE_MBUF_DEFAULT_BUF_SIZE, .mbuf_priv_size = PRIVATE_SIZE};
	size_t size =
		(line->count + 64ul) * (ELEMENT_SIZE + 256) / HUGE_PAGE * HUGE_PAGE + HUGE_PAGE;
	char name[32], *memory;
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "line-%u-%u", line->port, line->count);
	pool = rte_mempool_create_empty(name, line->count, ELEMENT_SIZE, 0, sizeof(own),
		SOCKET_ID_ANY,
		RTE_MEMPOOL_F_NO_IOVA_CONTIG); /* else no frame may cross a small page */
	memory = mmap(
		NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!pool || memory == MAP_FAILED)
		return NULL;
	memory += HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE;
	madvise(memory, size, MADV_HUGEPAGE);
	rte_mempool_set_ops_byname(pool, "ring_mp_mc", NULL);
	rte_pktmbuf_pool_init(pool, &own);
	if (rte_mempool_populate_virt(pool, memory, size, HUGE_PAGE, NULL, NULL) < (int)line->count)
		return NULL;
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

static void shuffle(struct rte_mbuf **mbufs, uint32_t count)
{
	uint64_t state = 1;

	for (uint32_t i = count; i > 1; i--) {
		struct rte_mbuf *last = mbufs[i - 1];
		uint32_t other;

		state = state * 6364136223846793005u + 1442695040888963407u;
		other = (uint32_t)(state >> 33) % i;
		mbufs[i - 1] = mbufs[other];
		mbufs[other] = last;
	}
}

/* What rte_eth_rx_burst() and rte_eth_tx_burst() look at. */
static void install(struct line *line)
{
	static void *no_callbacks[RTE_MAX_QUEUES_PER_PORT];
	static void *queues[RTE_MAX_ETHPORTS][1];
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[line->port];

	queues[line->port][0] = line;
	ops->rx_pkt_burst = receive;
	ops->tx_pkt_burst = take;
	ops->rxq = ops->txq =
		(struct rte_ethdev_qdata){.data = queues[line->port], .clbk = no_callbacks};
}

void line_open(struct line *line, uint16_t port, uint32_t count)
{
	struct rte_mempool *pool;

	*line = (struct line){.port = port, .count = count, .burst = 32};
	line->mbufs = calloc(count, sizeof(*line->mbufs));
	pool = create_pool(line);
	if (!line->mbufs || !pool || rte_pktmbuf_alloc_bulk(pool, line->mbufs, count)) {
		fprintf(stderr, "no memory for %u frames: %s\n", count, rte_strerror(rte_errno));
		exit(EXIT_FAILURE);
	}
	shuffle(line->mbufs, count);
	install(line);
}

void line_close(struct line *line)
{
	rte_mempool_free(line->mbufs[0]->pool);
	free(line->mbufs);
}

static void flush(const void *at)
{
#ifdef __x86_64__
	__builtin_ia32_clflush(at);
#else
	(void)at;
#endif
}

void line_refill(struct line *line, const struct world *world, bool cold)
{
	line->at = 0;
	line->sent = 0;
	line->flushed = false;
	for (uint32_t i = 0; i < line->count; i++) {
		struct rte_mbuf *mbuf = line->mbufs[i];
		uint8_t *frame;

		rte_pktmbuf_reset(mbuf);
		frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
		mbuf->data_len = (uint16_t)world_packet(world, line->numbers + i, frame);
		mbuf->pkt_len = mbuf->data_len;
		for (int line_of = -64; cold && line_of <= 128; line_of += 64)
			flush(frame + line_of);
		if (cold)
			flush(mbuf);
	}
	line->numbers += line->count;
	rte_mb();
}

uint64_t line_digest(const struct line *line)
{
	uint64_t digest = 0xcbf29ce484222325;

	for (uint32_t i = 0; i < line->count; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(line->mbufs[i], const uint8_t *);

		digest = (digest ^ line->mbufs[i]->pkt_len) * 0x100000001b3;
		for (uint32_t at = 0; at < line->mbufs[i]->data_len; at++)
			digest = (digest ^ frame[at]) * 0x100000001b3;
	}
	return digest;
}
