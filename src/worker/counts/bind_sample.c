/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/counts/bind_sample.h"

#include "common/byteorder.h"
#include "common/net.h"
#include "gue/gue_wire.h"
#include "packet/steer.h"

/* Returns the bytes before the inner packet of a frame that the director sends. */
static uint32_t outer_size(const uint8_t *frame)
{
	uint32_t ip = NET_ETHERNET_SIZE + (net_is_tag(load_be16(frame + 12)) ? NET_TAG_SIZE : 0);
	uint32_t gue = ip + (frame[ip] >> 4 == 6 ? GUE_IPV6_SIZE : GUE_IPV4_SIZE) + GUE_UDP_SIZE;

	return gue + 4u + 4u * (frame[gue] & GUE_HLEN_MASK);
}

static struct bind_sample look_up(
	const struct rte_mbuf *mbuf, uint32_t at, uint32_t stands_for, const struct routes *routes)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t outer = outer_size(frame);

	return (struct bind_sample){
		.at = at,
		.weight = stands_for,
		.size = mbuf->pkt_len,
		.bind = steer_find_packet_bind(frame + outer, mbuf->data_len - outer, mbuf->pkt_len - outer, routes),
	};
}

struct bind_sample bind_sample_take(struct sampler *sampler, struct rte_mbuf *const *mbufs, uint32_t count,
	uint32_t weight, const struct routes *routes)
{
	uint32_t at = sample_draw(sampler, count);

	return look_up(mbufs[at], at, count * weight, routes);
}

struct bind_sample bind_sample_choose(
	struct sampler *sampler, const struct outbox *outbox, uint32_t weight, const struct routes *routes)
{
	uint32_t at = sample_draw(sampler, outbox->count);

	if (outbox->count == 0 || outbox->outcomes[at].verdict != VERDICT_FORWARDED)
		return (struct bind_sample){0};
	return look_up(outbox->mbufs[at], at, outbox->count * weight, routes);
}

void bind_sample_count(const struct bind_sample *sample, uint32_t sent, const struct live_table *live, unsigned worker)
{
	const struct count_rows *rows = &live->counts.binds;
	uint32_t index;

	if (sample->at >= sent || sample->bind < 0)
		return;
	index = table_counts_bind(&live->counts, (uint32_t)classify_table(sample->bind), classify_bind(sample->bind));
	counters_add(&count_rows_of(rows, BIND_PACKETS, worker)[index], sample->weight);
	counters_add(&count_rows_of(rows, BIND_BYTES, worker)[index], (uint64_t)sample->size * sample->weight);
}
