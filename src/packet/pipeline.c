/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/pipeline.h"

#include <string.h>

#include "common/netaddr.h"
#include "gue/gue_wire.h"
#include "packet/steer.h"
#include "packet/too_big.h"

_Static_assert(TOO_BIG_HEADROOM <= BURST_HEADROOM + ENCAPSULATE_ETHERNET_SIZE,
	"an answer needs no more room than an encapsulation");

static void parse(struct burst *burst, uint64_t lanes, const struct steering_config *steering)
{
	BURST_EACH (lane, lanes) {
		struct flow flow;
		enum verdict verdict = flow_parse(
			burst->frame[lane], burst->readable[lane], burst->size[lane], steering->forward_ping, &flow);

		burst_set_flow(burst, (uint32_t)lane, verdict, &flow);
	}
}

static void answer_too_big(struct pipeline *pipeline, struct burst *burst, uint32_t lane)
{
	uint32_t offset = burst->ip_offset[lane];
	uint32_t readable = burst->readable[lane] - offset;
	uint32_t overhead = GUE_OUTER_SIZE(burst->hop_count[lane] - 1u);

	burst->verdict[lane] = VERDICT_DROP_TOO_BIG;
	if (!pipeline->steering->send_too_big || !burst->answerable[lane] ||
		!token_bucket_take(&pipeline->too_big_replies))
		return;
	burst->verdict[lane] = VERDICT_ANSWERED_TOO_BIG;
	burst->out[lane] = too_big_write(burst->frame[lane] + offset,
		readable < burst->ip_size[lane] ? readable : burst->ip_size[lane], burst->family[lane],
		&pipeline->outer, pipeline->steering->outbound_mtu - overhead, &burst->out_size[lane]);
}

static void emit_lane(struct pipeline *pipeline, struct burst *burst, uint32_t lane)
{
	uint32_t inner = burst->ip_size[lane];
	uint8_t hops = burst->hop_count[lane];
	uint16_t entropy = (uint16_t)(burst->hash[lane] ^ burst->hint[lane]);
	bool v4 = burst->family[lane] == NETADDR_V4;

	if (!pipeline->gateway_known) {
		burst->verdict[lane] = VERDICT_DROP_NO_GATEWAY;
	} else if (burst->headroom[lane] < BURST_HEADROOM) {
		burst->verdict[lane] = VERDICT_DROP_NO_BUFFER;
	} else if (inner + GUE_OUTER_SIZE(hops - 1u) > pipeline->steering->outbound_mtu) {
		answer_too_big(pipeline, burst, lane);
	} else {
		uint8_t *out = burst->frame[lane] + burst->ip_offset[lane] - encapsulate_size(hops);

		burst->out[lane] = out;
		burst->out_size[lane] = encapsulate_size(hops) + inner;
		if (hops <= PREBUILT_MAX_HOPS)
			prebuilt_write(out, &pipeline->prebuilt[PREBUILT_INDEX(!v4, hops)], burst->hops[lane], hops,
				inner, GUE_PORT_SOURCE_BIT | entropy);
		else
			encapsulate_write(out, &pipeline->outer, burst->hops[lane], hops, inner,
				v4 ? GUE_INNER_IPV4 : GUE_INNER_IPV6, GUE_PORT_SOURCE_BIT | entropy);
	}
}

static void emit(struct pipeline *pipeline, struct burst *burst, uint64_t lanes)
{
	BURST_EACH (lane, lanes) {
		burst->out[lane] = NULL;
		if (burst->verdict[lane] == VERDICT_FORWARDED)
			emit_lane(pipeline, burst, (uint32_t)lane);
		else if (burst->verdict[lane] == VERDICT_DROP_UNMATCHED && pipeline->steering->exception_path)
			burst->verdict[lane] = VERDICT_EXCEPTION;
	}
}

static bool fast_path_applies(const struct pipeline *pipeline)
{
	const struct routes *routes = pipeline->routes;

	return pipeline->fast && routes->set.count && routes->portmap && pipeline->gateway_known;
}

static void refresh_prebuilt(struct pipeline *pipeline)
{
	if (pipeline->prebuilt_valid && memcmp(&pipeline->prebuilt_outer, &pipeline->outer, sizeof(pipeline->outer)) == 0)
		return;
	pipeline->prebuilt_outer = pipeline->outer;
	pipeline->prebuilt_valid = true;
	prebuilt_fill(pipeline->prebuilt, &pipeline->outer);
}

void pipeline_run(struct pipeline *pipeline, struct burst *burst)
{
	uint64_t lanes = burst_lanes(burst);

	burst->mixed = false;
	refresh_prebuilt(pipeline);
	if (fast_path_applies(pipeline))
		lanes = pipeline->fast(&(struct lanes_job){pipeline->routes, pipeline->steering, pipeline->prebuilt,
					       &pipeline->prefetch},
			burst);
	if (!lanes)
		return;
	parse(burst, lanes, pipeline->steering);
	steer_classify(burst, lanes, pipeline->routes, pipeline->steering);
	steer_hash(burst, lanes, pipeline->routes, pipeline->steering);
	steer_hops(burst, lanes, pipeline->routes, pipeline->steering);
	emit(pipeline, burst, lanes);
}
