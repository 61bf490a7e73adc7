/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/baselines.h"

#include <string.h>

#include <rte_ethdev.h>

#include "common/siphash_lanes.h"

#define BURST      64
#define OUTER_SIZE 54 /* Ethernet, IPv4, UDP and GUE headers with two hops */
#define ETHERNET   14
#define SOURCE     (ETHERNET + 12) /* offset of the IPv4 source address */
#define GROWTH     (OUTER_SIZE - ETHERNET)

enum prefetch {
	AHEAD_NONE,
	AHEAD_BURST, /* prefetches the headers of a burst before it handles the burst */
	/* Prefetches the mbufs of the newest burst and the headers of the one before; handles the oldest of three. */
	AHEAD_NEXT,
};

INLINE void store(uint8_t *to, const uint8_t from[64])
{
#if defined(__AVX512F__)
	_mm512_mask_storeu_epi8(to, (1ull << OUTER_SIZE) - 1, _mm512_loadu_si512(from));
#elif defined(__AVX2__)
	const __m256i *low = (const __m256i *)from;
	const __m256i *high = (const __m256i *)(from + OUTER_SIZE - 32);

	_mm256_storeu_si256((__m256i *)to, _mm256_loadu_si256(low));
	_mm256_storeu_si256((__m256i *)(to + OUTER_SIZE - 32), _mm256_loadu_si256(high));
#else
	memcpy(to, from, OUTER_SIZE);
#endif
}

INLINE void prefetch_frame(const struct rte_mbuf *mbuf)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	__builtin_prefetch(frame - GROWTH, 1);
	__builtin_prefetch(frame + SOURCE, 1);
}

/* Returns the sum of what it read, so that the compiler does not drop the reads. */
INLINE uint32_t work(struct rte_mbuf **mbufs, uint16_t count, const uint8_t outer[64])
{
	uint32_t clients = 0;

	for (uint16_t i = 0; i < count; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], uint8_t *);
		uint32_t client;

		memcpy(&client, frame + SOURCE, sizeof(client));
		clients += client;
		store(frame - GROWTH, outer);
		mbufs[i]->data_off -= GROWTH;
		mbufs[i]->data_len += GROWTH;
		mbufs[i]->pkt_len += GROWTH;
	}
	return clients;
}

INLINE void run(uint16_t port, uint16_t queue, const bool *stop, enum prefetch prefetch)
{
	struct rte_mbuf *mbufs[3][BURST];
	uint8_t outer[64] = {0};
	uint16_t counts[3] = {0};
	volatile uint32_t clients;
	unsigned now = 0;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		unsigned before = (now + 2) % 3, due = prefetch == AHEAD_NEXT ? (now + 1) % 3 : now;

		counts[now] = rte_eth_rx_burst(port, queue, mbufs[now], BURST);
		for (uint16_t i = 0; prefetch == AHEAD_NEXT && i < counts[now]; i++)
			__builtin_prefetch(mbufs[now][i], 1);
		for (uint16_t i = 0; prefetch == AHEAD_NEXT && i < counts[before]; i++)
			prefetch_frame(mbufs[before][i]);
		for (uint16_t i = 0; prefetch == AHEAD_BURST && i < counts[now]; i++)
			prefetch_frame(mbufs[now][i]);
		clients = work(mbufs[due], counts[due], outer);
		rte_eth_tx_burst(port, queue, mbufs[due], counts[due]);
		counts[due] = 0;
		now = prefetch == AHEAD_NEXT ? (now + 1) % 3 : now;
	}
	(void)clients;
}

#define FLOOR(name, prefetch)                                             \
	static void name(uint16_t port, uint16_t queue, const bool *stop) \
	{                                                                 \
		run(port, queue, stop, prefetch);                         \
	}

FLOOR(prefetch_nothing, AHEAD_NONE)
FLOOR(prefetch_burst, AHEAD_BURST)
FLOOR(prefetch_next, AHEAD_NEXT)

baseline_fn *const ISA_NAME(floors)[BASELINE_AHEADS] = {prefetch_nothing, prefetch_burst, prefetch_next};

#define GROUPS 4 /* vectors of rows that are hashed side by side */

uint64_t ISA_NAME(floor_hashing)(uint32_t rows, uint32_t backends)
{
	static const uint8_t seed[SIPHASH_KEY_SIZE];
	struct siphash_lanes fresh;
	wide sum = wide_same(0);
	uint64_t sums[WIDE], total = 0;

	siphash_lanes_begin(&fresh, seed);
	for (uint32_t row = 0; row < rows; row += GROUPS * WIDE) {
		struct siphash_lanes states[GROUPS];
		struct siphash_lanes_fork forks[GROUPS];
		wide words[GROUPS];

		for (uint32_t g = 0; g < GROUPS; g++) {
			uint64_t numbers[WIDE];

			for (uint32_t i = 0; i < WIDE; i++)
				numbers[i] = row + g * WIDE + i;
			words[g] = wide_load(numbers);
			states[g] = fresh;
		}
		siphash_lanes_absorb(states, words, GROUPS);
		siphash_lanes_prepare(forks, states, GROUPS);
		for (uint32_t b = 0; b < backends; b++) {
			siphash_lanes_absorb_forked(forks, b, states, GROUPS);
			siphash_lanes_end(states, words, GROUPS);
			for (uint32_t g = 0; g < GROUPS; g++)
				sum ^= words[g];
		}
	}
	memcpy(sums, &sum, sizeof(sums));
	for (uint32_t i = 0; i < WIDE; i++)
		total ^= sums[i];
	return total;
}
