/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of DPDK as lanes of a burst, and back. A lane needs its headers contiguous and its buffer
 * private, because they are overwritten; an mbuf that is not like that (several segments, shared,
 * attached) is replaced by a copy.
 */
#ifndef GLB_WORKER_MBUF_H
#define GLB_WORKER_MBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "packet/burst.h"

/*
 * Fields that are read or written at once, as drivers do. From rearm_data on: data_off, refcnt,
 * nb_segs and port of 16 bits each, ol_flags of 64.
 */
_Static_assert(offsetof(struct rte_mbuf, data_off) == offsetof(struct rte_mbuf, rearm_data) &&
		       offsetof(struct rte_mbuf, refcnt) == offsetof(struct rte_mbuf, rearm_data) + 2 &&
		       offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, rearm_data) + 4 &&
		       offsetof(struct rte_mbuf, port) == offsetof(struct rte_mbuf, rearm_data) + 6 &&
		       offsetof(struct rte_mbuf, ol_flags) == offsetof(struct rte_mbuf, rearm_data) + 8,
	"what drivers rearm, in this order");
_Static_assert(offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, pkt_len) + 4 &&
		       offsetof(struct rte_mbuf, vlan_tci) == offsetof(struct rte_mbuf, pkt_len) + 6,
	"lengths of 32 and 16 bits, and a tag");

/* How pools of frames are made. With this private size the outer headers of an untagged frame share a cache line. */
#define MBUF_PRIVATE_SIZE 40
#define MBUF_POOL_CACHE   256 /* mbufs that each lcore may keep for itself */

#define MBUF_SINGLE 0x00010001u /* refcnt and nb_segs, both 1 */

/* Not 0: its bytes may not be overwritten in place, or it has several segments. */
static inline uint64_t mbuf_obstacles(const struct rte_mbuf *mbuf)
{
	uint64_t rearm;

	__builtin_memcpy(&rearm, &mbuf->rearm_data, sizeof(rearm));
	return ((rearm >> 16 & UINT32_MAX) ^ MBUF_SINGLE) |
	       (mbuf->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL));
}

/* Its bytes may be overwritten in place. */
static inline bool mbuf_is_writable(const struct rte_mbuf *mbuf)
{
	return mbuf_obstacles(mbuf) == 0;
}

/* From an mbuf of the pool to the frame in it, as drivers receive. */
static inline uint32_t mbuf_frame_offset(struct rte_mempool *pool)
{
	return sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(pool) + RTE_PKTMBUF_HEADROOM;
}

/*
 * A private copy of *mbuf from `pool`, with headroom and the first 2 KB or more in the first
 * segment; *mbuf is freed. NULL, and *mbuf kept: no buffer.
 */
struct rte_mbuf *mbuf_make_writable(struct rte_mbuf *mbuf, struct rte_mempool *pool);

/* Makes the frame a lane; it must be private. */
static inline void mbuf_to_lane(const struct rte_mbuf *mbuf, struct burst *burst, uint32_t lane)
{
	burst->frame[lane] = rte_pktmbuf_mtod(mbuf, uint8_t *);
	burst->headroom[lane] = mbuf->data_off;
	burst->readable[lane] = mbuf->data_len;
	burst->size[lane] = mbuf->pkt_len;
}

/* mbuf_commit() of a chain. */
bool mbuf_commit_chain(struct rte_mbuf *mbuf, const uint8_t *out, uint32_t size, bool segments_allowed);

/*
 * mbuf_commit() of one segment, in as few stores as there can be: they are most of what it takes.
 * The buffer is private, so no flag says who owns it.
 */
static inline void mbuf_commit_single(struct rte_mbuf *mbuf, const uint8_t *out, uint32_t size)
{
	uint64_t data_off = (uint16_t)(out - (const uint8_t *)mbuf->buf_addr);
	uint64_t rearm = data_off | (uint64_t)MBUF_SINGLE << 16 | (uint64_t)RTE_MBUF_PORT_INVALID << 48;
	uint64_t lengths = size | (uint64_t)size << 32; /* at most 16 bits: no tag */
	uint64_t rearm_and_flags __attribute__((vector_size(16))) = {rearm, 0};

	__builtin_memcpy(&mbuf->rearm_data, &rearm_and_flags, sizeof(rearm_and_flags));
	__builtin_memcpy(&mbuf->pkt_len, &lengths, sizeof(lengths));
}

/*
 * Makes the mbuf what the pipeline has put into its lane: `out` lies in the first segment or before
 * it, of `size` bytes over all segments. Flags of reception are gone. False where it then has more
 * segments than may be sent.
 */
static inline bool mbuf_commit(struct rte_mbuf *mbuf, const uint8_t *out, uint32_t size, bool segments_allowed)
{
	if (unlikely(mbuf->nb_segs != 1))
		return mbuf_commit_chain(mbuf, out, size, segments_allowed);
	mbuf_commit_single(mbuf, out, size);
	return true;
}

#endif
