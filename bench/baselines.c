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
	const struct {
		const char *store;
		baseline_fn *const *run;
		bool usable;
	} sets[] = {
		{"plain stores", floors_plain, true},
#ifdef __x86_64__
		{"two stores of 32 bytes", floors_avx2, __builtin_cpu_supports("avx2")},
		{"a masked store of 64 bytes", floors_avx512, __builtin_cpu_supports("avx512bw")},
#endif
	};
	unsigned count = 0;

	for (unsigned s = 0; s < sizeof(sets) / sizeof(*sets); s++)
		for (unsigned a = 0; a < BASELINE_AHEADS && sets[s].usable; a++)
			floors[count++] = (struct baseline_floor){sets[s].store, prefetch[a], sets[s].run[a]};
	return count;
}
