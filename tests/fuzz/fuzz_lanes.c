/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs bursts of any frames through the fast path of each ISA and through the general path: the results are the same,
 * and the same bytes are in and around every frame. The first bytes choose the configuration. Then follow the frames,
 * each after its size and the number of lanes that have it.
 */
#include "common/byteorder.h"
#include "packet/pipeline.h"
#include "tests/unit/handmade.h"
#include "tests/unit/twins.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORLDS 4
#define HEAD   4

static struct routes *worlds[WORLDS];
static struct next_hops *next_hops[WORLDS];
static uint8_t frames[BURST_MAX][ROOM];

/* One table, or many; with IPv4 or IPv6 hops; the last two with QUIC. */
static struct routes *build(unsigned world)
{
	struct table_set set = {0};

	for (uint32_t t = 0; t < (world == 0 ? 1 : 3); t++) {
		struct table *table = handmade_table(&set, 50, t == 1 ? 4 : 2);

		if (world == 3 || (world == 1 && t == 1))
			handmade_ipv6(table);
		handmade_bind(&set, t,
			t == 0   ? "10.10.0.0/16"
			: t == 1 ? "192.0.0.0/2"
				 : "0.0.0.0/1",
			TABLE_TCP, 0, 65000);
		handmade_bind(&set, t, t == 0 ? "0.0.0.0/0" : "10.10.10.0/24", TABLE_UDP, (uint16_t)(100 * t), 65535);
		handmade_bind(&set, t, t == 0 ? "::/0" : "fdb4::/16", TABLE_UDP, (uint16_t)(100 * t), 65535);
		handmade_bind(&set, t, t == 0 ? "fd00::/8" : "::/1", TABLE_TCP, (uint16_t)(100 * t), 65535);
		if (world < 2)
			continue;
		handmade_quic(table);
		for (uint32_t i = 0; i < table->bind_count; i++)
			table->binds[i].quic = table->binds[i].protocol == TABLE_UDP;
		table->backends[3].healthy = false;
	}
	return handmade_routes(&set);
}

/* Fills the lanes of both bursts. Each second lane of a frame has another client. */
static void fill(const uint8_t *data, size_t size)
{
	uint32_t count = 0;

	while (size > 2 && count < BURST_MAX) {
		uint32_t bytes = load_be16(data) % (ROOM - BEFORE), copies = 1 + data[0] / 8;

		data += 2;
		size -= 2;
		bytes = bytes < size ? bytes : (uint32_t)size;
		for (; copies && count < BURST_MAX; copies--, count++) {
			memset(frames[count], 0, ROOM);
			memcpy(frames[count] + BEFORE, data, bytes);
			if (count % 2)
				frames[count][BEFORE + 29] ^= (uint8_t)count;
			for (unsigned b = 0; b < 2; b++) {
				memcpy(rooms[b][count], frames[count], ROOM);
				bursts[b].frame[count] = rooms[b][count] + BEFORE;
				bursts[b].headroom[count] = BEFORE;
				bursts[b].readable[count] = copies == 3 ? bytes / 2 : bytes;
				bursts[b].size[count] = bytes;
			}
		}
		data += bytes;
		size -= bytes;
	}
	for (unsigned b = 0; b < 2; b++) {
		bursts[b].count = count;
		memset(bursts[b].out, 0, sizeof(bursts[b].out));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t mtus[] = {1500, 80, 130, 576};
	struct steering_config steering;
	unsigned world;

	if (size < HEAD)
		return 0;
	world = data[0] % WORLDS;
	if (!worlds[world]) {
		worlds[world] = build(world);
		next_hops[world] = random_next_hops(worlds[world]);
	}
	steering = (struct steering_config){
		.hash_fields = data[1] & 15 ? data[1] & 15 : STEERING_SOURCE_ADDRESS,
		.alt_hash_fields = data[1] >> 4,
		.forward_ping = data[2] & 1,
		.exception_path = data[2] & 2,
		.send_too_big = data[2] & 4,
		.outbound_mtu = mtus[data[2] >> 3 & 3],
		.admission = {.accept = data[3] % 3,
			.check_vlans = data[3] & 4,
			.drop_martians = data[3] & 8,
			.outbound_vlan = data[3] & 16 ? 7 : 0,
			.vlans = {1 | 1ull << 7}},
	};
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		struct pipeline pipeline = {
			.routes = worlds[world],
			.next_hops = data[2] & 32 ? next_hops[world] : &one_next_hop,
			.steering = &steering,
			.outer = {.source_mac = {2, 9, 8, 7, 6, 5}, .source_ip6 = {0x20, 1, [15] = 7}},
			.port_mac = 0x010000000002,
			.reply_to_sender = data[2] & 64,
		};

		if (!isa_usable(isa))
			continue;
		fill(data + HEAD, size - HEAD);
		pipeline_run(&pipeline, &bursts[0]);
		pipeline.fast = lanes_by_isa[isa];
		pipeline_run(&pipeline, &bursts[1]);
		for (uint32_t lane = 0; lane < bursts[0].count; lane++)
			assert_same_lane(lane);
	}
	return 0;
}
