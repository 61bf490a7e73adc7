/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/baselines.h"

#include <string.h>

#include <rte_ethdev.h>

#define BURST 64

void baseline_io(uint16_t port, uint16_t queue, const bool *stop)
{
	struct rte_mbuf *mbufs[BURST];

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED))
		rte_eth_tx_burst(port, queue, mbufs, rte_eth_rx_burst(port, queue, mbufs, BURST));
}

void baseline_macswap(uint16_t port, uint16_t queue, const bool *stop)
{
	struct rte_mbuf *mbufs[BURST];

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		uint16_t count = rte_eth_rx_burst(port, queue, mbufs, BURST);

		for (uint16_t i = 0; i < count; i++)
			rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void *));
		for (uint16_t i = 0; i < count; i++) {
			uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], uint8_t *), was[6];

			memcpy(was, frame, 6);
			memcpy(frame, frame + 6, 6);
			memcpy(frame + 6, was, 6);
			mbufs[i]->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
		}
		rte_eth_tx_burst(port, queue, mbufs, count);
	}
}

unsigned baseline_floors(struct baseline_floor floors[BASELINE_MAX_FLOORS])
{
	static const char *const prefetch[BASELINE_AHEADS] = {
		"no prefetch", "prefetch of the burst", "prefetch two bursts ahead"};
	static const char *const store[ISA_COUNT] = {
		[ISA_PLAIN] = "plain stores",
		[ISA_AVX2] = "two stores of 32 bytes",
		[ISA_AVX512] = "a masked store of 64 bytes",
	};
	static baseline_fn *const *const run[ISA_COUNT] = ISA_VARIANTS(floors);
	unsigned count = 0;

	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++)
		for (unsigned a = 0; a < BASELINE_AHEADS && isa_usable(isa); a++)
			floors[count++] = (struct baseline_floor){store[isa], prefetch[a], run[isa][a]};
	return count;
}
