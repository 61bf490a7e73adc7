/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/mbuf.h"

#include <string.h>

#include <rte_ether.h>

/* Puts VLAN tags that the driver has taken out back into the frame. False: there is no headroom. */
static bool restore_tags(struct rte_mbuf *mbuf)
{
	bool two = mbuf->ol_flags & RTE_MBUF_F_RX_QINQ_STRIPPED;

	if (!(mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED))
		return true;
	if (rte_vlan_insert(&mbuf))
		return false;
	mbuf->vlan_tci = mbuf->vlan_tci_outer;
	return !two || rte_vlan_insert(&mbuf) == 0;
}

struct rte_mbuf *mbuf_make_writable(struct rte_mbuf *mbuf, struct rte_mempool *pool)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(mbuf, pool, 0, UINT32_MAX);

	if (copy && !restore_tags(copy)) {
		rte_pktmbuf_free(copy);
		return NULL;
	}
	if (copy)
		rte_pktmbuf_free(mbuf);
	return copy;
}

/* Moves the last `size` bytes of the first segment to a new segment behind it. */
static bool split(struct rte_mbuf *mbuf, uint16_t size, struct rte_mempool *pool)
{
	struct rte_mbuf *end = rte_pktmbuf_alloc(pool);

	if (!end)
		return false;
	mbuf->data_len = (uint16_t)(mbuf->data_len - size);
	memcpy(rte_pktmbuf_mtod(end, void *), rte_pktmbuf_mtod_offset(mbuf, void *, mbuf->data_len), size);
	end->data_len = size;
	end->next = mbuf->next;
	mbuf->next = end;
	mbuf->nb_segs++;
	return true;
}

bool mbuf_make_room(struct rte_mbuf *mbuf, uint32_t headroom, struct rte_mempool *pool)
{
	uint16_t missing = headroom > mbuf->data_off ? (uint16_t)(headroom - mbuf->data_off) : 0;
	uint16_t tailroom = rte_pktmbuf_tailroom(mbuf);
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	if (!missing)
		return true;
	if (missing > tailroom && !split(mbuf, (uint16_t)(missing - tailroom), pool))
		return false;
	memmove(frame + missing, frame, mbuf->data_len);
	mbuf->data_off = (uint16_t)(mbuf->data_off + missing);
	return true;
}

/* Keeps the first `size` bytes and frees the segments that have none of them. */
static void mbuf_cut(struct rte_mbuf *mbuf, uint32_t size)
{
	struct rte_mbuf *segment = mbuf;
	uint32_t left = size;

	mbuf->nb_segs = 1;
	mbuf->pkt_len = size;
	while (segment->next && segment->data_len < left) {
		left -= segment->data_len;
		segment = segment->next;
		mbuf->nb_segs++;
	}
	if (segment->data_len > left)
		segment->data_len = (uint16_t)left;
	rte_pktmbuf_free(segment->next);
	segment->next = NULL;
}

bool mbuf_commit_chain(struct rte_mbuf *mbuf, const uint8_t *out, uint32_t size, bool segments_allowed)
{
	uint16_t offset = (uint16_t)(out - (const uint8_t *)mbuf->buf_addr);

	mbuf->ol_flags = 0;
	mbuf->data_len = (uint16_t)(mbuf->data_len + mbuf->data_off - offset);
	mbuf->data_off = offset;
	mbuf_cut(mbuf, size);
	return mbuf->nb_segs == 1 || segments_allowed;
}
