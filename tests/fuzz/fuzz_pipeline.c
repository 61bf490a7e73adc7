/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs any frame through the whole pipeline, with any steering config. The buffer has exactly the headroom and the
 * readable bytes of the frame, so that ASan detects accesses outside. The frame to send must agree with its own
 * headers.
 */
#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "packet/pipeline.h"
#include "tests/unit/handmade.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two tables with binds of both families that cover many addresses and ports, so that most flows match. The second has
 * IPv6 proxies. */
static struct routes *build_routes(void)
{
	struct table_set set = {0};

	handmade_table(&set, 50, 4);
	handmade_ipv6(handmade_table(&set, 9, 3));
	handmade_bind(&set, 1, "0.0.0.0/0", TABLE_TCP, 0, 65535);
	handmade_bind(&set, 1, "0.0.0.0/1", TABLE_UDP, 0, 65535);
	handmade_bind(&set, 0, "0.0.0.0/2", TABLE_TCP, 0, 1023);
	handmade_bind(&set, 0, "::/0", TABLE_UDP, 0, 65535);
	for (uint32_t t = 0; t < 2; t++) {
		handmade_quic(&set.tables[t]);
		for (uint32_t i = 0; i < set.tables[t].bind_count; i++)
			set.tables[t].binds[i].quic = true;
		set.tables[t].backends[3].healthy = false;
	}
	handmade_bind(&set, 0, "::/1", TABLE_TCP, 0, 1023);
	return handmade_routes(&set);
}

/* A third of the backends have no next hop, a third have one, and the others have two. */
static struct next_hops *build_next_hops(const struct routes *routes)
{
	static const struct next_hop some[] = {{1, 0x010000000002, 1}, {2, 0x020000000002, 3}};
	struct next_hop_list *lists = calloc(routes->address_count, sizeof(*lists));
	struct next_hops *next_hops;

	for (uint32_t i = 0; i < routes->address_count; i++)
		lists[i] = (struct next_hop_list){some, i % 3};
	next_hops = next_hops_create(lists, routes->address_count);
	free(lists);
	return next_hops;
}

static void check_sent(const struct burst *burst, const uint8_t *buffer, uint32_t whole)
{
	const uint8_t *out = burst->out[0], *ip;
	uint32_t tags = 0;
	enum verdict verdict = burst->verdict[0];
	uint32_t claimed;

	if (verdict == VERDICT_UNDERLAY_TOO_BIG && burst->underlay[0].mtu < 68)
		abort();
	if ((out != NULL) != (verdict == VERDICT_FORWARDED || verdict == VERDICT_ANSWERED_TOO_BIG))
		abort();
	if (!out)
		return;
	while (net_is_tag(load_be16(out + 12 + tags)))
		tags += NET_TAG_SIZE;
	ip = out + NET_ETHERNET_SIZE + tags;
	claimed = load_be16(ip - 2) == NET_TYPE_IPV4 ? load_be16(ip + 2) : 40u + load_be16(ip + 4);
	if (out < buffer || burst->out_size[0] != NET_ETHERNET_SIZE + tags + claimed)
		abort();
	if (out + burst->out_size[0] > burst->frame[0] + whole)
		abort();
	if (verdict == VERDICT_FORWARDED && (out[0] != 2 || (out[5] != 1 && out[5] != 2)))
		abort();
	if (verdict == VERDICT_FORWARDED && (burst->hop_count[0] < 1 || burst->hop_count[0] > ENCAPSULATE_MAX_HOPS))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct routes *routes;
	static struct burst burst;
	static struct next_hops *next_hops;
	static const struct next_hops none = {.single = true};
	uint32_t readable, whole;
	struct steering_config steering;
	struct pipeline pipeline;
	uint8_t *buffer;

	if (!routes)
		routes = build_routes();
	if (!next_hops)
		next_hops = build_next_hops(routes);
	if (size < 4)
		return 0;
	steering = (struct steering_config){
		.hash_fields = data[0] & 15 ? data[0] & 15 : STEERING_SOURCE_ADDRESS,
		.alt_hash_fields = data[0] >> 4,
		.forward_ping = data[1] & 1,
		.exception_path = data[1] & 2,
		.send_too_big = data[1] & 4,
		.reply_without_df = data[1] & 64,
		.udp_checksum = data[0] & 1,
		.outbound_mtu = data[1] & 8 ? 576 : 9216,
		.admission = {.accept = ADMISSION_EVERY_UNICAST,
			.check_vlans = data[1] & 128,
			.drop_martians = data[1] & 128,
			.outbound_vlan = data[1] & 128 ? 7 : 0,
			.vlans = {1 | 1ull << 7}},
	};
	pipeline = (struct pipeline){.routes = routes,
		.next_hops = data[1] & 16 ? next_hops : &none,
		.steering = &steering,
		.reply_to_sender = data[1] & 32};
	readable = (uint32_t)size - 4;
	whole = readable + load_be16(data + 2) % 2048;
	buffer = malloc(BURST_HEADROOM + readable);
	memcpy(buffer + BURST_HEADROOM, data + 4, readable);
	burst.count = 1;
	burst.frame[0] = buffer + BURST_HEADROOM;
	burst.headroom[0] = BURST_HEADROOM;
	burst.readable[0] = readable;
	burst.size[0] = whole;
	pipeline_run(&pipeline, &burst);
	check_sent(&burst, buffer, whole);
	free(buffer);
	return 0;
}
