/* SPDX-License-Identifier: BSD-3-Clause */
#include "baselines.h"

#include <string.h>

#include <rte_ethdev.h>

#define BURST      64
#define OUTER_SIZE 54 /* two hops, with Ethernet */
#define ETHERNET   14

void baseline_io(uint16_t port, const bool *stop)
{
	struct rte_mbuf *mbufs[BURST];

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED))
		rte_eth_tx_burst(port, 0, mbufs, rte_eth_rx_burst(port, 0, mbufs, BURST));
}

void baseline_macswap(uint16_t port, const bool *stop)
{
	struct rte_mbuf *mbufs[BURST];

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		uint16_t count = rte_eth_rx_burst(port, 0, mbufs, BURST);

		for (uint16_t i = 0; i < count; i++)
			rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void *));
		for (uint16_t i = 0; i < count; i++) {
			uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], uint8_t *), was[6];

			memcpy(was, frame, 6);
			memcpy(frame, frame + 6, 6);
			memcpy(frame + 6, was, 6);
			mbufs[i]->ol_flags = 0;
		}
		rte_eth_tx_burst(port, 0, mbufs, count);
	}
}

void baseline_floor(uint16_t port, const bool *stop)
{
	struct rte_mbuf *mbufs[BURST];
	uint8_t outer[OUTER_SIZE] = {0};

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		uint16_t count = rte_eth_rx_burst(port, 0, mbufs, BURST);

		for (uint16_t i = 0; i < count; i++)
			__builtin_prefetch(
				rte_pktmbuf_mtod_offset(mbufs[i], void *, ETHERNET - OUTER_SIZE),
				1);
		for (uint16_t i = 0; i < count; i++) {
			struct rte_mbuf *mbuf = mbufs[i];
			uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *), client[4];

			memcpy(client, frame + ETHERNET + 12, sizeof(client));
			frame += ETHERNET - OUTER_SIZE;
			memcpy(frame, outer, OUTER_SIZE);
			memcpy(frame + ETHERNET + 16, client, sizeof(client));
			mbuf->data_off -= OUTER_SIZE - ETHERNET;
			mbuf->data_len += OUTER_SIZE - ETHERNET;
			mbuf->pkt_len += OUTER_SIZE - ETHERNET;
		}
		rte_eth_tx_burst(port, 0, mbufs, count);
	}
}
