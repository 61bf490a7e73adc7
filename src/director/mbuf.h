/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of DPDK as lanes of a burst, and back. A lane needs its headers contiguous and its buffer
 * private, because they are overwritten; an mbuf that is not like that (several segments, shared,
 * attached) is replaced by a copy.
 */
#ifndef GLB_DIRECTOR_MBUF_H
#define GLB_DIRECTOR_MBUF_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "director/burst.h"

/* Its bytes may be overwritten in place. */
static inline bool mbuf_is_plain(const struct rte_mbuf *mbuf)
{
	return RTE_MBUF_DIRECT(mbuf) && mbuf->nb_segs == 1 && rte_mbuf_refcnt_read(mbuf) == 1;
}

/*
 * A private copy of *mbuf from `pool`, with headroom and the first 2 KB or more in the first
 * segment; *mbuf is freed. NULL, and *mbuf kept: no buffer.
 */
struct rte_mbuf *mbuf_privatise(struct rte_mbuf *mbuf, struct rte_mempool *pool);

/* Makes the frame a lane; it must be private. */
static inline void mbuf_view(const struct rte_mbuf *mbuf, struct burst *burst, uint32_t lane)
{
	burst->frame[lane] = rte_pktmbuf_mtod(mbuf, uint8_t *);
	burst->headroom[lane] = mbuf->data_off;
	burst->readable[lane] = mbuf->data_len;
	burst->size[lane] = mbuf->pkt_len;
}

/* mbuf_commit() of a chain. */
bool mbuf_commit_segments(
	struct rte_mbuf *mbuf, const uint8_t *out, uint32_t size, bool segments_allowed);

/*
 * Makes the mbuf what the pipeline has put into its lane: `out` lies in the first segment or before
 * it, of `size` bytes over all segments. Flags of reception are gone. False where it then has more
 * segments than may be sent.
 */
static inline bool mbuf_commit(
	struct rte_mbuf *mbuf, const uint8_t *out, uint32_t size, bool segments_allowed)
{
	mbuf->ol_flags = 0; /* the buffer is private, so no flag says who owns it */
	if (unlikely(mbuf->nb_segs != 1))
		return mbuf_commit_segments(mbuf, out, size, segments_allowed);
	mbuf->data_off = (uint16_t)(out - (const uint8_t *)mbuf->buf_addr);
	mbuf->data_len = (uint16_t)size;
	mbuf->pkt_len = size;
	return true;
}

#endif
