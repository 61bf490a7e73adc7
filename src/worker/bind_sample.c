/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/bind_sample.h"

#include "common/byteorder.h"
#include "common/net.h"
#include "gue/gue_wire.h"
#include "packet/steer.h"

/* Returns the bytes before the inner packet of a frame that the director sends. */
static uint32_t outer_size(const uint8_t *frame)
{
	uint32_t ip = NET_ETHERNET_SIZE + (net_is_tag(load_be16(frame + 12)) ? NET_TAG_SIZE : 0);
	uint8_t words = frame[ip + GUE_IPV4_SIZE + GUE_UDP_SIZE] & GUE_HLEN_MASK;

	return ip + GUE_OUTER_SIZE(words - 1u);
}

struct bind_sample bind_sample_take(const struct rte_mbuf *mbuf, uint32_t at, uint32_t count, const struct routes *routes)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t outer = outer_size(frame);

	return (struct bind_sample){
		.at = at,
		.weight = count * (count >= BIND_SAMPLE_MANY ? SAMPLE_EVERY : 1),
		.size = mbuf->pkt_len,
		.bind = steer_find_packet_bind(frame + outer, mbuf->data_len - outer, mbuf->pkt_len - outer, routes),
	};
}

struct bind_sample bind_sample_choose(const struct outbox *outbox, const struct routes *routes, uint64_t random)
{
	uint32_t at = bind_sample_place(outbox->count, random);

	if (outbox->count == 0 || !bind_sample_due(outbox->count, random) ||
		outbox->outcomes[at].verdict != VERDICT_FORWARDED)
		return (struct bind_sample){0};
	return bind_sample_take(outbox->mbufs[at], at, outbox->count, routes);
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
