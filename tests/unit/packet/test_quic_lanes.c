/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the fast path of each ISA with the general path, for packets to binds with QUIC: the same verdicts, servers
 * and bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "packet/pipeline.h"
#include "tests/unit/guarded.h"
#include "tests/unit/handmade.h"
#include "tests/unit/packets.h"
#include "tests/unit/table_helpers.h"
#include "tests/unit/twins.h"

#define BURSTS CASES(4000)
#define WORLDS 8

static struct routes *worlds[WORLDS];
static uint64_t seen[QUIC_FATES];

/* Every second table has binds for QUIC; the first one always. down: of so many backends one is down; 0: none. */
static void add_tables(struct table_set *set, uint32_t tables, bool two_hops, uint32_t down, bool ipv6)
{
	for (uint32_t t = 0; t < tables; t++) {
		struct table *table =
			handmade_table(set, t % 5 == 4 ? 2 : 60 + 7 * t, (uint8_t)(two_hops ? 2 : 1 + t % 8));
		char address[64];

		handmade_quic(table);
		if (ipv6)
			handmade_ipv6(table);
		for (uint32_t b = 0; b < table->backend_count; b++) {
			table->backends[b].healthy = !down || b % down;
			table->backends[b].state = b % 11 == 5  ? TABLE_INACTIVE
						   : b % 7 == 2 ? TABLE_DRAINING
								: TABLE_ACTIVE;
		}
		snprintf(address, sizeof(address), "10.10.10.%u", t);
		handmade_bind(set, t, address, TABLE_UDP, 443, 443);
		handmade_bind(set, t, address, TABLE_UDP, 53, 53);
		handmade_bind(set, t, address, TABLE_TCP, 443, 443);
		snprintf(address, sizeof(address), "fdb4::%u", t);
		handmade_bind(set, t, address, TABLE_UDP, 443, 443);
		table = &set->tables[t];
		table->binds[0].quic = table->binds[3].quic = t % 2 == 0;
	}
}

static struct routes *make_world(uint32_t tables, bool two_hops, uint32_t down, bool ipv6)
{
	struct table_set set = {0};

	add_tables(&set, tables, two_hops, down, ipv6);
	return handmade_routes(&set);
}

static struct routes *make_repeating_world(void)
{
	struct table_set set = {0};

	add_tables(&set, 4, true, 5, false);
	for (uint32_t i = 1; i < 60; i += 3)
		set.tables[0].backends[i].addr = set.tables[0].backends[i - 1].addr;
	return handmade_routes(&set);
}

static struct routes *make_misfit_world(void)
{
	struct routes *routes = make_world(20, false, 3, false);
	const struct portmap_limits limits = {.maps = 8, .pages = 12};

	portmap_free(routes->portmap);
	routes->portmap = portmap_build(routes->classifier, &limits);
	assert_true(routes->portmap && routes->portmap->misfits);
	return routes;
}

static int set_up(void **state)
{
	(void)state;
	worlds[0] = make_world(1, true, 0, false);
	worlds[1] = make_world(1, true, 3, false);
	worlds[2] = make_world(20, false, 0, false);
	worlds[3] = make_world(20, false, 4, false);
	worlds[4] = make_world(20, true, 2, false);
	worlds[5] = make_world(20, false, 3, true);
	worlds[6] = make_repeating_world();
	worlds[7] = make_misfit_world();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WORLDS; i++)
		routes_free(worlds[i]);
	return 0;
}

/* Appends the data of a datagram to or from (quoted) a server. only: its configuration, and nothing in it is wrong. */
static void append_quic(struct packet *packet, const struct table *table, int only, bool quoted)
{
	uint8_t cid[64], data[160] = {0};
	uint32_t kind = only >= 0 ? 0 : random_below(8), at = 0;
	uint32_t config = only >= 0 ? (uint32_t)only : random_below(table->quic_count);
	uint32_t size = handmade_cid(table, config, random_below(table->backend_count), cid);

	for (uint32_t i = size; i < sizeof(cid); i++)
		cid[i] = (uint8_t)i;
	if (kind == 1)
		cid[0] = (uint8_t)random_u64();
	if (kind == 2)
		cid[random_below(size)] ^= 0x10;
	if (kind == 3)
		size -= 1 + random_below(2);
	if (quoted || kind == 4 || kind == 5) {
		data[0] = 0xc0;
		data[1] = (uint8_t)random_u64(); /* of the version, at the place of a short header's connection ID */
		data[4] = 1;
		at = 5;
		if (quoted)
			data[at++] = (uint8_t)(kind == 6 ? 8 : 0), at += kind == 6 ? 8 : 0;
		data[at++] = (uint8_t)(kind == 5 ? random_below(100) : size);
	} else {
		data[at++] = (uint8_t)random_u64() & 0x7f;
	}
	memcpy(data + at, cid, sizeof(cid));
	at += size + (kind == 3 && random_below(2) ? 0 : random_below(20));
	if (kind == 7)
		at = random_below(at + 1);
	memcpy(packet_append(packet, at), data, at);
}

/* only: as in append_quic(), or -1. */
static void random_packet(struct packet *packet, const struct routes *routes, int only)
{
	bool plain = only >= 0;
	uint32_t t = random_below(routes->set.count), kind = plain ? 0 : random_below(12);
	const struct table *table = &routes->set.tables[t];
	bool v6 = !plain && random_below(2);
	uint8_t protocol = kind == 1 ? IPPROTO_TCP : IPPROTO_UDP;
	uint16_t port = kind == 2 ? 53 : 443, client = (uint16_t)random_u64();
	char vip[64];

	snprintf(vip, sizeof(vip), v6 ? "fdb4::%u" : "10.10.10.%u", t);
	*packet = packet_ethernet();
	if (kind == 3)
		packet_tag(packet, 0x8100);
	if (kind == 4) {
		*packet = v6 ? packet_error6(2) : packet_error4(3);
		if (v6)
			packet_ipv6(packet, vip, "2001:db8::77", protocol);
		else
			packet_ipv4(packet, vip, "203.0.113.7", protocol);
		packet_ports(packet, 8, port, client);
	} else {
		if (v6)
			packet_ipv6(packet, "2001:db8::77", vip, protocol);
		else if (packet_ipv4(packet, "203.0.113.7", vip, protocol) && kind == 5)
			packet_options(packet, 2);
		if (kind == 6 && !v6)
			store_be16(packet->bytes + 20, 0x2000); /* a first fragment */
		packet_ports(packet, protocol == IPPROTO_TCP ? 20 : 8, client, port);
	}
	append_quic(packet, table, only, kind == 4);
}

/* Plain bursts have nothing but QUIC packets of one configuration. */
static void fill_burst(const struct routes *routes, uint32_t count)
{
	int only = random_below(2) ? (int)random_below(routes->set.tables[0].quic_count) : -1;

	for (uint32_t lane = 0; lane < count; lane++) {
		struct packet packet;

		random_packet(&packet, routes, only);
		assert_true(packet.size <= ROOM - BEFORE);
		for (unsigned b = 0; b < 2; b++) {
			bursts[b].frame[lane] = rooms[b][lane] + BEFORE;
			bursts[b].headroom[lane] = BEFORE;
			bursts[b].readable[lane] = bursts[b].size[lane] = packet.size;
			memset(rooms[b][lane], 0, ROOM);
			memcpy(rooms[b][lane] + BEFORE, packet.bytes, packet.size);
		}
	}
	for (unsigned b = 0; b < 2; b++) {
		bursts[b].count = count;
		memset(bursts[b].out, 0, sizeof(bursts[b].out));
		memset(bursts[b].quic, 0xee, sizeof(bursts[b].quic));
	}
}

static struct pipeline pipeline_for(lanes_fn *fast, const struct routes *routes, const struct next_hops *next_hops,
	const struct steering_config *steering)
{
	return (struct pipeline){
		.routes = routes,
		.next_hops = next_hops,
		.steering = steering,
		.outer = {.source_mac = {2, 9, 8, 7, 6, 5},
			.source_ip = inet_addr("192.0.2.1"),
			.source_ip6 = {0x20, 1, [15] = 7}},
		.fast = fast,
	};
}

static void compare(lanes_fn *fast, const struct steering_config *steering, const struct routes *routes, uint32_t count)
{
	struct next_hops *next_hops = random_below(3) ? random_next_hops(routes) : NULL;
	struct pipeline quick = pipeline_for(fast, routes, next_hops ? next_hops : &one_next_hop, steering);
	struct pipeline stages = quick;

	stages.fast = NULL;
	for (; count > 0; count--) {
		fill_burst(routes, random_below(4) ? BURST_MAX : random_below(BURST_MAX + 1));
		pipeline_run(&stages, &bursts[0]);
		pipeline_run(&quick, &bursts[1]);
		for (uint32_t lane = 0; lane < bursts[0].count; lane++) {
			assert_same_lane(lane);
			assert_int_equal(bursts[1].quic[lane], bursts[0].quic[lane]);
			seen[bursts[0].quic[lane]]++;
		}
	}
	next_hops_free(next_hops);
}

static void test_fast_path_of_each_isa_finds_the_servers_of_the_general_path(void **state)
{
	(void)state;
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		for (unsigned run = 0; isa_usable(isa) && run < 8 * WORLDS; run++) {
			struct steering_config steering = {
				.hash_fields = (uint8_t)(1 + run / WORLDS), .forward_ping = true, .outbound_mtu = 1500};

			if (run / WORLDS % 4 == 3)
				steering.alt_hash_fields = STEERING_SOURCE_PORT;
			if (run / WORLDS == 5)
				steering.outbound_mtu = 100; /* the general path gets packets that were decoded before */
			compare(lanes_by_isa[isa], &steering, worlds[run % WORLDS], BURSTS / (8 * WORLDS));
		}
	}
	for (unsigned fate = 0; fate < QUIC_FATES; fate++)
		assert_true(seen[fate] > BURSTS / 4);
}

/* The frame ends at a guard page. */
static void test_no_byte_beyond_the_frame_is_read(void **state)
{
	const struct steering_config steering = {.hash_fields = 1, .forward_ping = true, .outbound_mtu = 1500};

	(void)state;
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		struct pipeline pipeline = pipeline_for(lanes_by_isa[isa], worlds[3], &one_next_hop, &steering);

		for (unsigned i = 0; isa_usable(isa) && i < CASES(20000); i++) {
			struct packet packet;

			random_packet(&packet, worlds[3], i % 4 ? -1 : (int)(i / 4 % 5));
			bursts[1].frame[0] = guarded_copy(packet.bytes, packet.size);
			bursts[1].headroom[0] = BEFORE;
			bursts[1].readable[0] = bursts[1].size[0] = packet.size;
			bursts[1].count = 1;
			pipeline_run(&pipeline, &bursts[1]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fast_path_of_each_isa_finds_the_servers_of_the_general_path),
		cmocka_unit_test(test_no_byte_beyond_the_frame_is_read),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
