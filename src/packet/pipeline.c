/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/pipeline.h"

#include <string.h>

#include "common/netaddr.h"
#include "gue/gue_wire.h"
#include "gue/outer_checksum.h"
#include "packet/steer.h"
#include "packet/icmp/too_big.h"

_Static_assert(TOO_BIG_HEADROOM <= ROUTES_LEAST_HEADROOM + NET_ETHERNET_SIZE,
	"a too-big reply needs no more headroom than the outer headers");
_Static_assert(
	NET_TAG_SIZE *NET_MAX_TAGS <= NET_ETHERNET_SIZE, "frames begin after the received MACs, so tags have room");

#define TAGS_OFFSET 12 /* bytes of a frame before its tags: both MACs */

static enum verdict admit_and_parse(const struct pipeline *pipeline, struct burst *burst, uint32_t lane)
{
	const struct admission *admission = &pipeline->steering->admission;
	struct flow *flow = &burst->flow[lane];
	enum verdict verdict = admission_check(admission, pipeline->port_mac, burst->frame[lane], burst->readable[lane]);

	if (verdict != VERDICT_FORWARDED)
		*flow = (struct flow){0}; /* not that of an earlier burst */
	if (verdict == VERDICT_EXCEPTION && !pipeline->steering->exception_path)
		return VERDICT_DROP_NOT_FOR_US;
	if (verdict != VERDICT_FORWARDED)
		return verdict;
	verdict = flow_parse(burst->frame[lane], burst->readable[lane], burst->size[lane], flow);
	return flow->martian && admission->drop_martians ? VERDICT_DROP_MARTIAN : verdict;
}

/* Prefetches the headers of a long chain, up to the longest: two tags, and eight extension headers in packet
 * and quote. */
static void prefetch_chain(const uint8_t *frame)
{
	__builtin_prefetch(frame + PREFETCH_FRAME_END + 64);
	__builtin_prefetch(frame + PREFETCH_FRAME_END + 128);
	__builtin_prefetch(frame + PREFETCH_FRAME_END + 192);
}

/* Prefetches of each packet what prefetch_packets() did not, while the packet before it is parsed. */
static void pipeline_parse(const struct pipeline *pipeline, struct burst *burst, uint64_t lanes)
{
	uint64_t later = lanes;

	BURST_EACH (lane, lanes) {
		uint32_t next;

		later &= later - 1;
		next = later ? (uint32_t)__builtin_ctzll(later) : (uint32_t)lane;
		if (burst->readable[next] > PREFETCH_FRAME_END + 64)
			prefetch_chain(burst->frame[next]);
		burst->verdict[lane] = (uint8_t)admit_and_parse(pipeline, burst, (uint32_t)lane);
	}
}

/* Inserts tags behind the MACs of a frame to send. */
static void insert_tags(struct burst *burst, uint32_t lane, const uint8_t *tags, uint32_t size)
{
	uint8_t *out = burst->out[lane] - size;

	memmove(out, burst->out[lane], TAGS_OFFSET);
	memcpy(out + TAGS_OFFSET, tags, size);
	burst->out[lane] = out;
	burst->out_size[lane] += size;
}

/* next_hop: the MAC to which the packet would go if it were not too big. */
static void reply_too_big(struct pipeline *pipeline, struct burst *burst, uint32_t lane, uint64_t next_hop)
{
	const struct flow *flow = &burst->flow[lane];
	uint8_t *frame = burst->frame[lane], *ip = frame + flow->ip_offset;
	uint32_t readable = burst->readable[lane] - flow->ip_offset;
	uint32_t overhead =
		encapsulate_outer_size(pipeline->routes->outer_ipv6[burst->table[lane]], burst->hop_count[lane]);
	uint8_t tags[NET_TAG_SIZE * NET_MAX_TAGS];
	uint32_t tags_size = flow->ip_offset - NET_ETHERNET_SIZE;
	struct encapsulate_outer outer = pipeline->outer;
	enum too_big_refusal refusal =
		too_big_check(frame, flow, pipeline->routes, pipeline->steering, &outer, pipeline->too_big_limit);

	burst->verdict[lane] = VERDICT_DROP_TOO_BIG;
	burst->refusal[lane] = (uint8_t)refusal;
	if (refusal != TOO_BIG_REPLY)
		return;
	/* Copied now, because the reply overwrites the frame's header. */
	memcpy(outer.destination_mac, pipeline->reply_to_sender ? frame + NET_MAC_SIZE : (const uint8_t *)&next_hop,
		NET_MAC_SIZE);
	memcpy(tags, frame + TAGS_OFFSET, tags_size);
	burst->verdict[lane] = VERDICT_ANSWERED_TOO_BIG;
	burst->out[lane] = too_big_write(ip, readable < flow->ip_size ? readable : flow->ip_size, flow->family, &outer,
		pipeline->steering->outbound_mtu - overhead, &burst->out_size[lane]);
	if (pipeline->reply_to_sender)
		insert_tags(burst, lane, tags, tags_size);
}

static void emit_lane(struct pipeline *pipeline, struct burst *burst, uint32_t lane)
{
	const struct flow *flow = &burst->flow[lane];
	uint32_t inner = flow->ip_size;
	uint8_t hops = burst->hop_count[lane];
	uint16_t source_port = steer_source_port(burst->hash[lane], flow->hint);
	uint64_t mac = next_hops_find(pipeline->next_hops, burst->backend[lane], source_port);
	const struct net_ipv6_address *ipv6 = pipeline->routes->tables[burst->table[lane]].ipv6;
	uint32_t headroom = routes_headroom(pipeline->routes, pipeline->steering->alt_hash_fields);

	if (!mac) {
		burst->verdict[lane] = VERDICT_DROP_NO_NEXT_HOP;
	} else if (burst->headroom[lane] + flow->ip_offset < headroom + NET_ETHERNET_SIZE) {
		burst->verdict[lane] = VERDICT_DROP_NO_BUFFER;
	} else if (inner + encapsulate_outer_size(ipv6, hops) > pipeline->steering->outbound_mtu) {
		reply_too_big(pipeline, burst, lane, mac);
	} else {
		uint32_t size = encapsulate_size(ipv6, hops);
		uint8_t *out = burst->frame[lane] + flow->ip_offset - size;
		const struct prebuilt_headers *headers =
			&pipeline->prebuilt[PREBUILT_INDEX(ipv6 ? 1 : 0, flow->family == NETADDR_V6, hops)];

		burst->out[lane] = out;
		burst->out_size[lane] = size + inner;
		if (hops > PREBUILT_MAX_HOPS)
			encapsulate_write(out, &pipeline->outer, burst->hops[lane], hops, ipv6, inner,
				flow->family == NETADDR_V4 ? GUE_INNER_IPV4 : GUE_INNER_IPV6, source_port);
		else if (ipv6)
			prebuilt_write_ipv6_hops(out, headers, burst->hops[lane], hops, ipv6, inner, source_port);
		else
			prebuilt_write(out, headers, burst->hops[lane], hops, inner, source_port);
		memcpy(out, &mac, NET_MAC_SIZE);
	}
}

static void pipeline_emit(struct pipeline *pipeline, struct burst *burst, uint64_t lanes)
{
	BURST_EACH (lane, lanes) {
		burst->out[lane] = NULL;
		if (burst->verdict[lane] == VERDICT_FORWARDED)
			emit_lane(pipeline, burst, (uint32_t)lane);
	}
}

/* Among the packets that no bind matches, finds the ICMP errors about the director's own packets to proxies. */
static void recognise_underlay(const struct pipeline *pipeline, struct burst *burst, uint64_t lanes)
{
	enum verdict unmatched = steer_unmatched(pipeline->steering);

	BURST_EACH (lane, lanes) {
		const struct flow *flow = &burst->flow[lane];
		const uint8_t *ip = burst->frame[lane] + flow->ip_offset;
		uint32_t readable = burst->readable[lane] - flow->ip_offset;
		struct underlay_note *note = &burst->underlay[lane];
		struct netaddr own;

		if (burst->verdict[lane] != unmatched || flow->kind != FLOW_ICMP_ERROR)
			continue;
		own = netaddr_from_bytes(flow->family, flow->family == NETADDR_V4 ? (const void *)&pipeline->outer.source_ip
										  : pipeline->outer.source_ip6);
		if (underlay_parse(span_of(ip, readable < flow->ip_size ? readable : flow->ip_size), &own,
			    pipeline->steering->outbound_mtu, note) &&
			routes_has_backend(pipeline->routes, &note->backend))
			burst->verdict[lane] = VERDICT_UNDERLAY_TOO_BIG;
	}
}

static bool fast_path_applies(const struct pipeline *pipeline)
{
	const struct routes *routes = pipeline->routes;

	return pipeline->fast && routes->set.count && next_hops_any(pipeline->next_hops) &&
	       admission_accepts_vlan(&pipeline->steering->admission, 0); /* the fast path takes untagged frames */
}

/* With several next hops, the prebuilt headers have no destination MAC. */
static void refresh_prebuilt(struct pipeline *pipeline)
{
	uint64_t mac = pipeline->next_hops->single ? pipeline->next_hops->mac : 0;

	encapsulate_set_mac(pipeline->outer.destination_mac, mac);
	if (pipeline->prebuilt_valid && memcmp(&pipeline->prebuilt_outer, &pipeline->outer, sizeof(pipeline->outer)) == 0)
		return;
	pipeline->prebuilt_outer = pipeline->outer;
	pipeline->prebuilt_valid = true;
	prebuilt_fill(pipeline->prebuilt, &pipeline->outer);
}

/* Inserts an 802.1Q tag into the frames to send, except replies to the sender, which have the tags of its frame. */
static void tag_frames(const struct pipeline *pipeline, struct burst *burst, uint16_t vlan)
{
	uint8_t tag[NET_TAG_SIZE];

	store_be16(tag, NET_TYPE_CTAG);
	store_be16(tag + 2, vlan);
	for (uint32_t lane = 0; lane < burst->count; lane++)
		if (burst->verdict[lane] == VERDICT_FORWARDED ||
			(burst->verdict[lane] == VERDICT_ANSWERED_TOO_BIG && !pipeline->reply_to_sender))
			insert_tags(burst, lane, tag, sizeof(tag));
}

static void write_checksums(struct burst *burst)
{
	for (uint32_t lane = 0; lane < burst->count; lane++) {
		uint8_t *ip;

		if (burst->verdict[lane] != VERDICT_FORWARDED)
			continue;
		ip = burst->out[lane] + NET_ETHERNET_SIZE;
		outer_checksum_write(ip, (uint32_t)(burst->frame[lane] + burst->readable[lane] - ip));
	}
}

/* Finds flow, verdict and table of these lanes. Returns those that are forwarded so far. */
static uint64_t parse_and_classify(const struct pipeline *pipeline, struct burst *burst, uint64_t lanes)
{
	uint64_t forwarded = 0;

	burst->parsed |= lanes;
	pipeline_parse(pipeline, burst, lanes);
	steer_classify(burst, lanes, pipeline->routes, pipeline->steering);
	recognise_underlay(pipeline, burst, lanes);
	BURST_EACH (lane, lanes)
		forwarded |= (uint64_t)(burst->verdict[lane] == VERDICT_FORWARDED) << lane;
	return forwarded;
}

/* The same, and hashes them. For the fast path. */
static void parse_and_hash(const struct pipeline *pipeline, struct burst *burst, uint64_t lanes)
{
	uint64_t forwarded = parse_and_classify(pipeline, burst, lanes);

	steer_hash_lanes(burst, forwarded, pipeline->routes, pipeline->steering);
}

static uint64_t run_lanes(struct pipeline *pipeline, struct burst *burst, uint64_t parsed)
{
	const struct lanes_job job = {pipeline->routes, pipeline->next_hops, pipeline->steering, pipeline->prebuilt,
		&pipeline->prefetch, pipeline->port_mac, parsed, parse_and_hash, pipeline};

	return pipeline->fast(&job, burst);
}

/* From the hash on, SIMD code takes the packets that the general path has parsed, too. Returns the lanes that it
 * leaves. */
static uint64_t parse_rest(struct pipeline *pipeline, struct burst *burst, uint64_t lanes)
{
	uint64_t forwarded = parse_and_classify(pipeline, burst, lanes);

	if (!pipeline->fast || !forwarded || !next_hops_any(pipeline->next_hops))
		return lanes;
	return (lanes & ~forwarded) | run_lanes(pipeline, burst, forwarded);
}

static void run_stages(struct pipeline *pipeline, struct burst *burst)
{
	uint64_t lanes = burst_lanes(burst), parsed;

	refresh_prebuilt(pipeline);
	if (fast_path_applies(pipeline))
		lanes = run_lanes(pipeline, burst, 0);
	if (!lanes)
		return;
	parsed = lanes & burst->parsed;
	if (lanes != parsed)
		lanes = parsed | parse_rest(pipeline, burst, lanes & ~parsed);
	steer_find_hops(burst, lanes, pipeline->routes, pipeline->steering);
	pipeline_emit(pipeline, burst, lanes);
}

void pipeline_run(struct pipeline *pipeline, struct burst *burst)
{
	burst->mixed = false;
	burst->general_path = 0;
	burst->parsed = 0;
	if (burst->count == 0)
		return;
	if (pipeline->routes->quic)
		memset(burst->quic, 0, sizeof(burst->quic)); /* QUIC_NONE */
	run_stages(pipeline, burst);
	if (burst->parsed)
		burst->general_path = (uint32_t)__builtin_popcountll(burst->parsed);
	if (pipeline->steering->udp_checksum)
		write_checksums(burst);
	if (pipeline->steering->admission.outbound_vlan)
		tag_frames(pipeline, burst, pipeline->steering->admission.outbound_vlan);
}
