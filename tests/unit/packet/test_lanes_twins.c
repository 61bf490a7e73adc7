/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the fast path of each ISA with the general path: the same verdicts, and the same bytes in and around every
 * frame, for millions of packets. Most of these differ only a little from an eligible packet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "packet/pipeline.h"
#include "table/table_share.h"
#include "tests/unit/guarded.h"
#include "tests/unit/handmade.h"
#include "tests/unit/packets.h"
#include "tests/unit/table_helpers.h"
#include "tests/unit/twins.h"

#define INPUTS CASES(4000000u)
#define SEEDS  512
#define WORLDS 14

struct seed {
	uint8_t bytes[ROOM - BEFORE];
	uint32_t size;
};

static struct seed seeds[SEEDS];
/*
 * Routes with: one table; many tables; no table; many tables and two hops in every row; the same, with a table of 257
 * backends; many tables in which some backends have the same address; many tables, and no room for all port maps; many
 * tables that share rows, and few with more than two hops; and then with IPv6 hops: one table and two hops in every row;
 * many tables; many tables of which half have IPv4 hops; many tables in which some backends have the same address.
 */
static struct routes *worlds[WORLDS];
static uint64_t seen[VERDICT_COUNT];
static uint8_t frames[BURST_MAX][ROOM];
static bool strangers; /* some frames are to other MACs or from martian sources */

static void bind_all(struct table_set *set, uint32_t table)
{
	char address[64];

	snprintf(address, sizeof(address), "10.10.10.%u", 10 + table);
	handmade_bind(set, table, address, TABLE_TCP, 80, 80);
	handmade_bind(set, table, address, TABLE_UDP, 0, 65535);
	handmade_bind(set, table, "10.10.11.0/24", TABLE_TCP, (uint16_t)(1000 * table), (uint16_t)(1000 * table + 1500));
	handmade_bind(set, table, "10.10.0.0/16", TABLE_UDP, (uint16_t)(50 + table), 100);
	snprintf(address, sizeof(address), "fdb4::%u", 10 + table);
	handmade_bind(set, table, address, TABLE_TCP, 80, 443);
	handmade_bind(set, table, "fdb4:0:0:1::/64", TABLE_UDP, (uint16_t)table, 60000);
}

/* most: backends of the first table. two_hops: every row has two hops, else 1 to 8. ipv6: one of so
 * many tables has IPv6 backends; 0: none. */
static struct routes *make_world(uint32_t tables, uint32_t most, bool two_hops, uint32_t ipv6)
{
	struct table_set set = {0};

	for (uint32_t t = 0; t < tables; t++) {
		bool six = ipv6 && t % ipv6 == 0;

		/* with 2 backends and 4 hops, rows have addresses twice */
		handmade_table(&set,
			t == 0       ? most
			: t % 5 == 4 ? 2
				     : 100,
			(uint8_t)(two_hops ? 2 : 1 + t % (six ? ENCAPSULATE_MAX_IPV6 : 8)));
		if (six)
			handmade_ipv6(&set.tables[t]);
		bind_all(&set, t);
	}
	return handmade_routes(&set);
}

/* Rows of two hops name some addresses twice. */
static struct routes *make_repeating_world(bool ipv6)
{
	struct table_set set = {0};

	for (uint32_t t = 0; t < 20; t++) {
		handmade_table(&set, t == 7 ? 1 : 60 + t, 2);
		for (uint32_t i = 1; t != 7 && i < 60; i += 1 + t)
			set.tables[t].backends[i] = set.tables[t].backends[i - 1];
		if (ipv6)
			handmade_ipv6(&set.tables[t]);
		bind_all(&set, t);
	}
	return handmade_routes(&set);
}

static struct routes *make_sharing_world(void)
{
	struct table_set set = {0};

	for (uint32_t t = 0; t < 20; t++) {
		handmade_table(&set, 100, t % 7 == 3 ? 8 : 2);
		bind_all(&set, t);
	}
	for (uint32_t t = 10; t < 20; t += 2) {
		free(set.tables[t].rows);
		table_borrow_rows(&set.tables[t], &set.tables[t % 4 ? 3 : 4]);
	}
	return handmade_routes(&set);
}

static struct routes *make_misfit_world(void)
{
	struct routes *routes = make_world(20, 100, false, 0);
	const struct portmap_limits limits = {.maps = 40, .pages = 200};

	portmap_free(routes->portmap);
	routes->portmap = portmap_build(routes->classifier, &limits);
	assert_true(routes->portmap && routes->portmap->misfits && !routes->portmap->flat);
	return routes;
}

static void random_packet(struct packet *packet)
{
	static const uint8_t protocols[] = {
		IPPROTO_TCP, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6, 50};
	static const char *const vips[] = {
		"10.10.10.10", "10.10.10.11", "10.10.10.30", "10.10.11.7", "10.10.77.1", "192.0.2.9"};
	static const char *const vips6[] = {"fdb4::10", "fdb4::11", "fdb4::30", "fdb4:0:0:1::7", "fdb4::"};
	static const uint16_t ports[] = {80, 80, 443, 0, 65535, 1000, 2500, 60000, 50, 100};
	uint8_t protocol = protocols[random_below(8)];

	*packet = packet_ethernet();
	if (random_below(16) == 0)
		packet_tag(packet, 0x8100);
	if (random_below(2)) {
		uint8_t *ip = packet_ipv4(packet, "203.0.113.7", vips[random_below(6)], protocol);

		store_be16(ip + 6, random_below(2) ? NET_DONT_FRAGMENT : 0);
		if (random_below(16) == 0)
			packet_options(packet, 1 + random_below(10));
	} else {
		packet_ipv6(packet, "2001:db8::77", vips6[random_below(5)], protocol);
		if (random_below(16) == 0) {
			packet->bytes[packet->ip[0] + 6] = IPPROTO_DSTOPTS;
			packet_extension(packet, protocol, 1);
		}
	}
	packet_ports(packet, protocol == IPPROTO_TCP ? 20 : 8, (uint16_t)random_u64(), ports[random_below(10)]);
	if (random_below(4) == 0)
		packet_append(packet, random_below(20));
	if (random_below(4) == 0)
		packet_padding(packet, random_below(8));
	if (random_below(4) == 0) /* a length that is wrong by one */
		packet->bytes[packet->ip[0] + (packet->bytes[packet->ip[0]] >> 4 == 4 ? 3 : 5)] +=
			(uint8_t)(random_below(2) ? 1 : -1);
}

static int set_up(void **state)
{
	(void)state;
	worlds[0] = make_world(1, 100, true, 0);
	worlds[1] = make_world(20, 100, false, 0);
	worlds[2] = make_world(0, 0, false, 0);
	worlds[3] = make_world(20, 256, true, 0);
	worlds[4] = make_world(20, 257, true, 0);
	worlds[5] = make_repeating_world(false);
	worlds[6] = make_misfit_world();
	worlds[7] = make_sharing_world();
	worlds[8] = make_world(1, 100, true, 1);
	worlds[9] = make_world(20, 100, false, 1);
	worlds[10] = make_world(20, 100, false, 2);
	worlds[11] = make_repeating_world(true);
	/* The first worlds of each family again, with the other way to load pairs. */
	worlds[12] = make_world(1, 100, true, 0);
	worlds[13] = make_world(1, 100, true, 1);
	worlds[12]->pairs_scalar = !worlds[0]->pairs_scalar;
	worlds[13]->pairs_scalar = !worlds[8]->pairs_scalar;
	for (unsigned i = 0; i < 12; i++)
		assert_true(i == 2 || (worlds[i]->ipv6_only == (i > 7 && i != 10) && !worlds[i]->ipv6 == (i < 8)));
	assert_true(worlds[0]->hop_bits == 8 && worlds[1]->hop_bits == 7 && worlds[3]->hop_bits == 8);
	assert_true(worlds[4]->hop_bits == 9 && worlds[7]->hop_bits == 7);
	assert_true(worlds[1]->pairs_whole && !worlds[1]->pairs_only && !worlds[1]->rows_shared);
	assert_true(!worlds[7]->pairs_whole && worlds[7]->rows_shared);
	for (unsigned i = 0; i < SEEDS; i++) {
		struct packet packet;

		random_packet(&packet);
		seeds[i].size = packet.size;
		memcpy(seeds[i].bytes, packet.bytes, packet.size);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WORLDS; i++)
		routes_free(worlds[i]);
	return 0;
}

/*
 * Copies a seed, with another client address. Unless intact, half of the frames get flipped bits in the first 64 bytes,
 * and some are cut.
 */
static uint32_t fill_frame(uint8_t *room, const struct seed *seed, bool intact)
{
	uint64_t dice = random_u64();
	uint8_t *frame = room + BEFORE;
	uint32_t size = seed->size;

	memcpy(frame, seed->bytes, sizeof(seed->bytes));
	frame[26 + dice % 4] ^= (uint8_t)(dice >> 8); /* another client */
	dice >>= 16;
	if (intact)
		return size;
	for (unsigned broken = dice % 4 > 1 ? (unsigned)dice % 4 - 1 : 0; broken > 0; broken--)
		frame[(dice >> 8 * broken) % 64] ^= (uint8_t)(1 << (dice >> (8 * broken + 6)) % 8);
	if (dice >> 32 & 1 && dice >> 33 & 1 && dice >> 34 & 1)
		size = (uint32_t)(dice >> 35) % (size + 1);
	return size;
}

#define PORT_MAC 0x010000000002 /* 02:00:00:00:00:01, to which all seeds are sent */

/* The last one is the only other unicast MAC that strange_admission() may accept. */
static const uint8_t other_macs[][6] = {{2, 0, 0, 0, 0, 3}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {3, 0, 0, 0, 0, 1},
	{0, 0, 0, 0, 0, 0}, {2, 0, 0, 0, 0, 0x81}, {6, 0, 0, 0, 0, 1}, {0, 0, 0x5e, 0, 1, 10}};
#define OTHER_MACS (sizeof(other_macs) / sizeof(other_macs[0]))

static struct admission strange_admission(uint32_t number)
{
	struct admission admission = {
		.accept = number % 3,
		.check_vlans = number & 1,
		.drop_martians = number % 5 > 0,
		.outbound_vlan = number & 4 ? 0x123 : 0,
		.mac_count = number & 2 ? 2 : 0,
		.macs = {0x020202020202},
	};
	uint8_t mac[8] = {0};

	memcpy(mac, other_macs[OTHER_MACS - 1], 6);
	admission.macs[1] = admission_mac(mac);
	admission_add_vlan(&admission, number & 8 ? 0x123 : 0);
	if (number & 16)
		admission_add_vlan(&admission, 0);
	return admission;
}

static void set_random_source(uint8_t *frame)
{
	static const char *const sources[] = {"0.0.0.0", "127.255.0.1", "126.255.255.255", "128.0.0.0", "224.0.0.1",
		"223.1.2.3", "255.255.255.255", "10.10.10.10", "::", "::1", "::ffff:1.2.3.4",
		"0:0:0:1::", "ff00::", "fe80::1", "fdb4::10"};
	bool v4 = load_be16(frame + 12) == 0x0800;
	uint32_t kind = random_below(8);

	if (kind == 7)
		memcpy(frame + (v4 ? 26 : 22), frame + (v4 ? 30 : 38), v4 ? 4 : 16); /* the destination */
	else
		packet_address(frame + (v4 ? 26 : 22), sources[v4 ? random_below(8) : 8 + random_below(7)]);
}

/* Changes MACs and sources of no, one, some or all frames. */
static void estrange(uint32_t count)
{
	uint32_t macs = random_below(4), sources = random_below(4), one = random_below(BURST_MAX);
	const uint8_t *same = other_macs[random_below(OTHER_MACS)];

	for (uint32_t lane = 0; lane < count; lane++) {
		if (macs == 3 || (macs == 2 && random_below(2)) || (macs == 1 && lane == one))
			memcpy(frames[lane] + BEFORE, macs == 3 ? same : other_macs[random_below(OTHER_MACS)], 6);
		if (sources == 3 || (sources == 2 && random_below(8) == 0) || (sources == 1 && lane == one))
			set_random_source(frames[lane] + BEFORE);
	}
}

/* type: Ethernet type; 0: any. */
static const struct seed *random_seed(uint16_t type)
{
	const struct seed *seed;

	do
		seed = &seeds[random_below(SEEDS)];
	while (type && load_be16(seed->bytes + 12) != type);
	return seed;
}

/*
 * Half of the bursts have packets of one family, so that the blocks are full. One of their lanes may be damaged, not
 * contiguous, or without headroom. In half of them, an eighth of the frames has a tag.
 */
static void fill_burst(uint32_t count)
{
	static const uint16_t types[] = {0, 0, 0x0800, 0x86dd};
	uint16_t type = types[random_below(4)];
	uint32_t other = random_below(2 * BURST_MAX);
	bool some_tagged = type && random_below(2);

	for (uint32_t lane = 0; lane < count; lane++) {
		bool intact = type && lane != other, tagged = some_tagged && random_below(8) == 0;
		uint32_t size = fill_frame(frames[lane], random_seed(tagged ? NET_TYPE_CTAG : type), intact);
		uint32_t defect = intact ? 0 : random_below(type ? 8 : 64);

		for (unsigned b = 0; b < 2; b++) {
			bursts[b].frame[lane] = rooms[b][lane] + BEFORE;
			bursts[b].headroom[lane] = defect == 1 ? ROUTES_LEAST_HEADROOM - 1 : BEFORE;
			bursts[b].readable[lane] = defect == 2 ? size / 2 : size;
			bursts[b].size[lane] = size;
		}
	}
	if (strangers)
		estrange(count);
	for (unsigned b = 0; b < 2; b++) {
		bursts[b].count = count;
		memcpy(rooms[b], frames, count * sizeof(*frames));
		memset(bursts[b].out, 0, sizeof(bursts[b].out));
	}
}

static uint64_t compare(
	lanes_fn *fast, const struct steering_config *steering, const struct routes *routes, uint32_t inputs)
{
	struct next_hops *next_hops = random_below(3) ? random_next_hops(routes) : NULL;
	struct pipeline pipeline = {
		.routes = routes,
		.next_hops = next_hops ? next_hops : &one_next_hop,
		.steering = steering,
		.outer = {.source_mac = {2, 9, 8, 7, 6, 5},
			.source_ip = inet_addr("192.0.2.1"),
			.source_ip6 = {0x20, 1, [15] = 7}},
		.fast = fast,
		.port_mac = PORT_MAC,
		.reply_to_sender = steering->hash_fields % 2,
	};
	struct pipeline stages = pipeline;
	uint64_t forwarded = 0;

	stages.fast = NULL;
	for (uint32_t done = 0; done < inputs; done += bursts[0].count) {
		fill_burst(random_below(4) ? BURST_MAX : random_below(BURST_MAX + 1));
		pipeline_run(&stages, &bursts[0]);
		pipeline_run(&pipeline, &bursts[1]);
		for (uint32_t lane = 0; lane < bursts[0].count; lane++) {
			assert_same_lane(lane);
			forwarded += bursts[0].verdict[lane] == VERDICT_FORWARDED;
			seen[bursts[0].verdict[lane]]++;
		}
	}
	next_hops_free(next_hops);
	return forwarded;
}

static void test_fast_path_of_each_isa_gives_the_results_of_the_general_path(void **state)
{
	unsigned usable = 0;

	(void)state;
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++)
		usable += isa_usable(isa);
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		uint32_t inputs = INPUTS / usable / 15 / WORLDS + 1;
		lanes_fn *forward = lanes_by_isa[isa];
		uint64_t forwarded[WORLDS] = {0};

		if (!isa_usable(isa)) {
			print_message("%s: not on this CPU\n", isa_name(isa));
			continue;
		}
		for (uint8_t fields = 1; fields < 16; fields++) {
			struct steering_config steering = {
				.hash_fields = fields, .forward_ping = fields % 2, .outbound_mtu = 1500};

			for (unsigned world = 0; world < WORLDS; world++)
				if (world != 2)
					forwarded[world] += compare(forward, &steering, worlds[world], inputs);
			steering.outbound_mtu = 80; /* most IPv6 packets are too big, and IPv4 packets with four hops */
			steering.send_too_big = true;
			steering.exception_path = true;
			compare(forward, &steering, worlds[1], 2 * inputs);
			steering.outbound_mtu = 130; /* the same with IPv6 hops */
			compare(forward, &steering, worlds[10], 2 * inputs);
		}
		for (unsigned world = 0; world < WORLDS; world++) /* the random next hops of one run may be few */
			if (world != 2)
				assert_true(forwarded[world] > 15 * inputs / 40);
	}
}

static void test_packets_without_next_hop_were_compared(void **state)
{
	(void)state;
	assert_true(seen[VERDICT_DROP_NO_NEXT_HOP] > INPUTS / 1000);
}

static void test_too_big_replies_were_compared(void **state)
{
	(void)state;
	assert_true(seen[VERDICT_ANSWERED_TOO_BIG] > INPUTS / 1000);
	assert_true(seen[VERDICT_DROP_TOO_BIG] > INPUTS / 50000);
}

static void test_without_tables_nothing_is_forwarded(void **state)
{
	struct steering_config steering = {.hash_fields = STEERING_SOURCE_ADDRESS, .outbound_mtu = 1500};

	(void)state;
	assert_int_equal(compare(lanes_plain, &steering, worlds[2], 10000), 0);
}

/* The comparison is only worth something if enough packets of each world are forwarded. */
static void test_fast_path_with_alt_hash_fields_gives_the_results_of_the_general_path(void **state)
{
	const uint32_t inputs = INPUTS / 4000 + CASES(2000);

	(void)state;
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		uint64_t forwarded[WORLDS] = {0};

		for (uint8_t alt = 1; isa_usable(isa) && alt < 16; alt++) {
			struct steering_config steering = {.hash_fields = (uint8_t)(alt % 5 + 1), .alt_hash_fields = alt};

			for (unsigned world = 0; world < WORLDS; world++) {
				/* some are too big */
				steering.outbound_mtu = alt % 2 ? 1500 : worlds[world]->ipv6 ? 150 : 104;
				if (world != 2)
					forwarded[world] += compare(lanes_by_isa[isa], &steering, worlds[world], inputs);
			}
		}
		for (unsigned world = 0; isa_usable(isa) && world < WORLDS; world++)
			if (world != 2)
				assert_true(forwarded[world] > 15 * inputs / 40);
	}
}

static void test_admission_is_the_same_on_the_fast_path_of_each_isa(void **state)
{
	uint64_t isas = 0;

	(void)state;
	strangers = true;
	memset(seen, 0, sizeof(seen));
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		isas += isa_usable(isa);
		for (uint32_t number = 0; isa_usable(isa) && number < 120; number++) {
			struct steering_config steering = {.hash_fields = STEERING_SOURCE_ADDRESS,
				.outbound_mtu = 1500,
				.exception_path = number % 2,
				.admission = strange_admission(number)};

			compare(lanes_by_isa[isa], &steering, worlds[number % 2 ? number % 4 > 1 ? 10 : 1 : 0],
				INPUTS / 1000 + CASES(1000));
		}
	}
	strangers = false;
	assert_true(seen[VERDICT_FORWARDED] > isas * (INPUTS / 400));
	assert_true(seen[VERDICT_DROP_NOT_FOR_US] > isas * (INPUTS / 400));
	assert_true(seen[VERDICT_DROP_VLAN] > isas * (INPUTS / 400));
	assert_true(seen[VERDICT_DROP_MARTIAN] > isas * (INPUTS / 400));
}

/* Runs frames of every size that end at the guard page, in bursts that fill blocks and that do not. */
static void load_at_guard(lanes_fn *fast, const struct packet *packet)
{
	static const uint32_t counts[] = {1, 15, 16, 17, BURST_MAX};
	struct steering_config steering = {.hash_fields = STEERING_SOURCE_ADDRESS, .outbound_mtu = 1500};
	struct pipeline pipeline = {.routes = worlds[0], .next_hops = &one_next_hop, .steering = &steering, .fast = fast};
	struct burst *burst = &bursts[0];

	for (uint32_t size = 0; size <= packet->size; size++) {
		for (unsigned i = 0; i < 5; i++) {
			uint8_t *frame = guarded_copy(packet->bytes, size);

			*burst = (struct burst){.count = counts[i]};
			for (uint32_t lane = 0; lane < counts[i]; lane++) {
				burst->frame[lane] = frame;
				burst->headroom[lane] = BEFORE;
				burst->readable[lane] = burst->size[lane] = size;
			}
			pipeline_run(&pipeline, burst);
			for (uint32_t lane = 0; lane < counts[i]; lane++)
				assert_int_equal(burst->verdict[lane] == VERDICT_FORWARDED, size == packet->size);
		}
	}
}

static void test_no_isa_loads_unreadable_bytes(void **state)
{
	struct packet v4 = packet_ethernet(), v6 = packet_ethernet();
	(void)state;
	packet_ipv4(&v4, "203.0.113.7", "10.10.10.10", IPPROTO_UDP);
	packet_ports(&v4, 8, 1234, 80);
	packet_ipv6(&v6, "2001:db8::77", "fdb4:0:0:1::7", IPPROTO_UDP);
	packet_ports(&v6, 8, 1234, 80);
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		if (!isa_usable(isa))
			continue;
		load_at_guard(lanes_by_isa[isa], &v4);
		load_at_guard(lanes_by_isa[isa], &v6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fast_path_of_each_isa_gives_the_results_of_the_general_path),
		cmocka_unit_test(test_packets_without_next_hop_were_compared),
		cmocka_unit_test(test_too_big_replies_were_compared),
		cmocka_unit_test(test_without_tables_nothing_is_forwarded),
		cmocka_unit_test(test_fast_path_with_alt_hash_fields_gives_the_results_of_the_general_path),
		cmocka_unit_test(test_admission_is_the_same_on_the_fast_path_of_each_isa),
		cmocka_unit_test(test_no_isa_loads_unreadable_bytes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
