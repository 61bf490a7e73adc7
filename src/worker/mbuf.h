/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From mbufs to the lanes of a burst, and back. The pipeline overwrites a frame in place, so its mbuf must be writable:
 * one segment, in a buffer that nothing else refers to. Other mbufs (chained, shared, attached to another mbuf or to an
 * external buffer) are replaced by a copy. So are mbufs from which the driver has taken VLAN tags, and the copy has the
 * tags again, because a tagged frame must not pass for an untagged one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "packet/burst.h"

/*
 * Several fields are read or written at once, as drivers do it. From rearm_data on: data_off, refcnt, nb_segs and port
 * with 16 bits each, ol_flags with 64.
 */
_Static_assert(offsetof(struct rte_mbuf, data_off) == offsetof(struct rte_mbuf, rearm_data) &&
		       offsetof(struct rte_mbuf, refcnt) == offsetof(struct rte_mbuf, rearm_data) + 2 &&
		       offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, rearm_data) + 4 &&
		       offsetof(struct rte_mbuf, port) == offsetof(struct rte_mbuf, rearm_data) + 6 &&
		       offsetof(struct rte_mbuf, ol_flags) == offsetof(struct rte_mbuf, rearm_data) + 8,
	"rearm_data is followed by these fields, in this order");
_Static_assert(offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, pkt_len) + 4 &&
		       offsetof(struct rte_mbuf, vlan_tci) == offsetof(struct rte_mbuf, pkt_len) + 6,
	"pkt_len of 32 bits is followed by data_len of 16 bits and vlan_tci");

/*
 * The private size for rte_pktmbuf_pool_create() with which the outer headers of an untagged frame with two hops start
 * at a cache line. ipv6: all of them are IPv6.
 */
static inline uint16_t mbuf_private_size(bool ipv6)
{
	return ipv6 ? 72 : 40;
}

#define MBUF_POOL_CACHE 256 /* mbufs per lcore */

#define MBUF_SINGLE 0x00010001u /* refcnt and nb_segs as one number; both are 1 */

/* 0 if the mbuf is writable, otherwise any other value. The values of several mbufs can be OR-ed. */
static inline uint64_t mbuf_obstacles(const struct rte_mbuf *mbuf)
{
	uint64_t rearm;

	__builtin_memcpy(&rearm, &mbuf->rearm_data, sizeof(rearm));
	return ((rearm >> 16 & UINT32_MAX) ^ MBUF_SINGLE) |
	       (mbuf->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_RX_VLAN_STRIPPED));
}

static inline bool mbuf_is_writable(const struct rte_mbuf *mbuf)
{
	return mbuf_obstacles(mbuf) == 0;
}

/* Bytes from the start of a struct rte_mbuf of the pool to the frame that a driver writes into its buffer. */
static inline uint32_t mbuf_frame_offset(struct rte_mempool *pool)
{
	return sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(pool) + RTE_PKTMBUF_HEADROOM;
}

/*
 * Replaces `mbuf` by a copy from `pool` with headroom, and frees `mbuf`. VLAN tags that the driver has taken out are in
 * the copy again. The copy of a large frame may have several segments. The first of them is full (2 KB or more in the
 * director's pools) and may be overwritten. NULL: the pool is empty, and the caller keeps `mbuf`.
 */
struct rte_mbuf *mbuf_make_writable(struct rte_mbuf *mbuf, struct rte_mempool *pool);

/*
 * Moves the frame of a writable mbuf to the end of its buffer, until there are `headroom` bytes before it. The end of
 * the frame moves to another segment, from `pool`, if the buffer is full. False: the pool is empty.
 */
bool mbuf_make_room(struct rte_mbuf *mbuf, uint32_t headroom, struct rte_mempool *pool);

/* Describes the frame in a lane of the burst. The mbuf is writable or comes from mbuf_make_writable(). */
static inline void mbuf_to_lane(const struct rte_mbuf *mbuf, struct burst *burst, uint32_t lane)
{
	burst->frame[lane] = rte_pktmbuf_mtod(mbuf, uint8_t *);
	burst->headroom[lane] = mbuf->data_off;
	burst->readable[lane] = mbuf->data_len;
	burst->size[lane] = mbuf->pkt_len;
}

/* mbuf_commit() of an mbuf with several segments. */
bool mbuf_commit_chain(struct rte_mbuf *mbuf, const uint8_t *out, uint32_t size, bool segments_allowed);

/*
 * mbuf_commit() of an mbuf with one segment, in as few stores as possible, because they are most of its cost. The mbuf
 * is writable, so it has none of the flags that describe its buffer.
 */
static inline void mbuf_commit_single(struct rte_mbuf *mbuf, const uint8_t *out, uint32_t size)
{
	uint64_t data_off = (uint16_t)(out - (const uint8_t *)mbuf->buf_addr);
	uint64_t rearm = data_off | (uint64_t)MBUF_SINGLE << 16 | (uint64_t)RTE_MBUF_PORT_INVALID << 48;
	uint64_t lengths = size | (uint64_t)size << 32; /* size has at most 16 bits, so vlan_tci becomes 0 */
	uint64_t rearm_and_flags __attribute__((vector_size(16))) = {rearm, 0};

	__builtin_memcpy(&mbuf->rearm_data, &rearm_and_flags, sizeof(rearm_and_flags));
	__builtin_memcpy(&mbuf->pkt_len, &lengths, sizeof(lengths));
}

/*
 * Makes the mbuf contain the frame that the pipeline wrote for its lane. out: its first byte, in the first segment or
 * in the headroom. size: its bytes, over all segments; the rest is cut off. The flags of the receiving driver are
 * cleared. False: the mbuf has several segments, but segments_allowed is false.
 */
static inline bool mbuf_commit(struct rte_mbuf *mbuf, const uint8_t *out, uint32_t size, bool segments_allowed)
{
	if (unlikely(mbuf->nb_segs != 1))
		return mbuf_commit_chain(mbuf, out, size, segments_allowed);
	mbuf_commit_single(mbuf, out, size);
	return true;
}
