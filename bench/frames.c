/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <rte_errno.h>

#include "worker/mbuf.h"

#define HUGE_PAGE   (2u << 20)
#define SPARE       3072 /* mbufs for copies, second segments and the mempool caches of lcores */
#define FIRST_PIECE 14 /* bytes in the first of two segments */

/* Places the frames side by side in transparent huge pages, so that there are as few TLB misses as with hugepages. */
static bool create_pool(struct frames *frames, unsigned queue, uint32_t count, uint16_t private_size)
{
	static unsigned serial;
	struct rte_pktmbuf_pool_private own = {
		.mbuf_data_room_size = RTE_MBUF_DEFAULT_BUF_SIZE, .mbuf_priv_size = private_size};
	uint32_t element = (uint32_t)sizeof(struct rte_mbuf) + private_size + RTE_MBUF_DEFAULT_BUF_SIZE;
	size_t size = count * (element + 256ul) / HUGE_PAGE * HUGE_PAGE + HUGE_PAGE;
	char name[RTE_MEMPOOL_NAMESIZE], *memory;
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "frames-%u-%u", queue, serial++);
	pool = rte_mempool_create_empty(name, count, element, MBUF_POOL_CACHE, sizeof(own), SOCKET_ID_ANY,
		RTE_MEMPOOL_F_NO_IOVA_CONTIG); /* allows frames to cross the boundary of a small page */
	memory = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!pool || memory == MAP_FAILED)
		return false;
	frames->pool = pool;
	frames->memory = memory;
	frames->memory_size = size + HUGE_PAGE;
	memory += HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE;
	madvise(memory, size, MADV_HUGEPAGE);
	rte_mempool_set_ops_byname(pool, "ring_mp_mc", NULL);
	rte_pktmbuf_pool_init(pool, &own);
	if (rte_mempool_populate_virt(pool, memory, size, HUGE_PAGE, NULL, NULL) < (int)count)
		return false;
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return true;
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

static void allocate(struct frames *frames)
{
	if (rte_pktmbuf_alloc_bulk(frames->pool, frames->mbufs, frames->count) == 0)
		return;
	fprintf(stderr, "out of memory for %u frames: %s\n", frames->count, rte_strerror(rte_errno));
	exit(EXIT_FAILURE);
}

void frames_open(struct frames *frames, unsigned queue, uint32_t count, bool ipv6_hops)
{
	*frames = (struct frames){.count = count};
	frames->mbufs = calloc(count, sizeof(*frames->mbufs));
	if (!frames->mbufs || !create_pool(frames, queue, count + SPARE, mbuf_private_size(ipv6_hops))) {
		fprintf(stderr, "out of memory for %u frames: %s\n", count, rte_strerror(rte_errno));
		exit(EXIT_FAILURE);
	}
	allocate(frames);
	shuffle(frames->mbufs, count);
}

void frames_close(struct frames *frames)
{
	rte_mempool_free(frames->pool);
	munmap(frames->memory, frames->memory_size);
	free(frames->mbufs);
}

void frames_consume(struct frames *frames, bool consumed)
{
	frames->consumed = consumed;
	if (consumed)
		rte_pktmbuf_free_bulk(frames->mbufs, frames->count);
}

static void flush(const void *at)
{
#if defined(__x86_64__)
	__builtin_ia32_clflush(at);
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
#else
#error "no instruction is known that flushes a cache line on this CPU"
#endif
}

static struct rte_mbuf *new_mbuf(struct frames *frames)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(frames->pool);

	if (!mbuf) {
		fprintf(stderr, "out of memory for an mbuf\n");
		exit(EXIT_FAILURE);
	}
	return mbuf;
}

/* Changes the mbuf of a frame to the wanted shape. */
static struct rte_mbuf *reshape(struct frames *frames, struct rte_mbuf *mbuf)
{
	struct rte_mbuf *other;

	switch (frames->shape) {
	case FRAMES_WHOLE:
		break;
	case FRAMES_SEGMENTS:
		other = new_mbuf(frames);
		rte_memcpy(rte_pktmbuf_mtod(other, void *), rte_pktmbuf_mtod_offset(mbuf, void *, FIRST_PIECE),
			mbuf->data_len - FIRST_PIECE);
		other->data_len = mbuf->data_len - FIRST_PIECE;
		mbuf->data_len = FIRST_PIECE;
		mbuf->next = other;
		mbuf->nb_segs = 2;
		break;
	case FRAMES_SHARED:
		rte_pktmbuf_refcnt_update(mbuf, 1);
		break;
	case FRAMES_INDIRECT:
		other = new_mbuf(frames);
		rte_pktmbuf_attach(other, mbuf);
		rte_pktmbuf_free(mbuf);
		return other;
	}
	return mbuf;
}

void frames_refill(struct frames *frames, struct line_queue *queue, const struct world *world)
{
	if (frames->consumed)
		allocate(frames);
	for (uint32_t i = 0; i < frames->count; i++) {
		struct rte_mbuf *mbuf = frames->mbufs[i];
		uint8_t *frame;

		rte_pktmbuf_reset(mbuf);
		frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
		mbuf->data_len = (uint16_t)world_packet(world, frames->numbers + i, frame);
		mbuf->pkt_len = mbuf->data_len;
		frames->mbufs[i] = reshape(frames, mbuf);
		for (int line_of = -64; frames->cold && line_of <= 128; line_of += 64)
			flush(frame + line_of);
		if (frames->cold)
			flush(mbuf);
	}
	frames->numbers += frames->count;
	queue->received = frames->mbufs;
	queue->count = frames->count;
	rte_mb();
}

void frames_reclaim(struct frames *frames, struct line *line)
{
	for (unsigned i = 0; i < LINE_QUEUES; i++)
		rte_pktmbuf_free_bulk(line->queues[i].sent, line->queues[i].sent_count);
	if (frames->shape == FRAMES_SHARED) /* releases the second reference to each mbuf */
		rte_pktmbuf_free_bulk(frames->mbufs, frames->count);
}

static uint64_t digest_of(const struct rte_mbuf *mbuf)
{
	uint64_t digest = 0xcbf29ce484222325 ^ mbuf->pkt_len;

	for (; mbuf; mbuf = mbuf->next) {
		const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);

		for (uint32_t at = 0; at < mbuf->data_len; at++)
			digest = (digest ^ bytes[at]) * 0x100000001b3;
	}
	return digest;
}

uint64_t frames_digest(const struct line *line)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LINE_QUEUES; i++)
		for (uint32_t at = 0; at < line->queues[i].sent_count; at++)
			sum += digest_of(line->queues[i].sent[at]);
	return sum;
}
