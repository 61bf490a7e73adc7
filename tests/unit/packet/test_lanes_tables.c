/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends packets to chosen tables on the fast path of each ISA: rows of each length, many tables, and few port maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "packet/pipeline.h"
#include "tests/unit/handmade.h"
#include "tests/unit/packets.h"
#include "tests/unit/twins.h"

static uint16_t first_port = 1000;

/* Fills bursts[number] with packets to 10.77.0.LANE, TCP port first_port + LANE. */
static void fill_addressed(unsigned number)
{
	struct burst *burst = &bursts[number];

	*burst = (struct burst){.count = BURST_MAX};
	for (uint32_t lane = 0; lane < BURST_MAX; lane++) {
		struct packet packet = packet_ethernet();
		char address[32];

		snprintf(address, sizeof(address), "10.77.0.%u", lane);
		packet_ipv4(&packet, "203.0.113.7", address, IPPROTO_TCP);
		packet_ports(&packet, 20, 4321, (uint16_t)(first_port + lane));
		burst->frame[lane] = rooms[number][lane] + BEFORE;
		memcpy(burst->frame[lane], packet.bytes, packet.size);
		burst->headroom[lane] = BEFORE;
		burst->readable[lane] = burst->size[lane] = packet.size;
	}
}

/* Returns how many of the packets of fill_addressed() are forwarded. */
static uint32_t count_addressed(const struct routes *routes, const struct steering_config *steering, lanes_fn *fast)
{
	struct pipeline pipeline = {.routes = routes, .next_hops = &one_next_hop, .steering = steering, .fast = fast};
	uint32_t forwarded = 0;

	fill_addressed(0);
	pipeline_run(&pipeline, &bursts[0]);
	for (uint32_t lane = 0; lane < BURST_MAX; lane++)
		forwarded += bursts[0].verdict[lane] == VERDICT_FORWARDED;
	return forwarded;
}

/* Every address has its own port map. Only as many as the limit fit, and the fast path leaves only the others. */
static void test_only_packets_of_misfits_take_the_general_path(void **state)
{
	struct steering_config steering = {.hash_fields = STEERING_SOURCE_ADDRESS, .outbound_mtu = 1500};
	struct table_set set = {0};
	struct prebuilt_headers prebuilt[PREBUILT_COUNT];
	struct prefetch prefetch = {0};
	struct routes *routes;

	(void)state;
	prebuilt_fill(prebuilt, &(struct encapsulate_outer){0});
	handmade_table(&set, 100, 2);
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		char address[32];

		snprintf(address, sizeof(address), "10.77.0.%u", i);
		handmade_bind(&set, 0, address, TABLE_TCP, (uint16_t)(1000 + i), (uint16_t)(1000 + i));
	}
	routes = handmade_routes(&set);
	for (uint32_t fits = 0; fits <= BURST_MAX; fits += fits ? BURST_MAX - 40 : 40) {
		const struct portmap_limits limits = {.maps = 2 + fits, .pages = 100, .flat_maps = 100 * (fits > 40)};
		const struct lanes_job job = {routes, &one_next_hop, &steering, prebuilt, &prefetch, 0, 0, NULL, NULL};

		portmap_free(routes->portmap);
		routes->portmap = portmap_build(routes->classifier, &limits);
		assert_int_equal(routes->portmap->misfits, BURST_MAX - fits);
		for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
			if (!isa_usable(isa))
				continue;
			fill_addressed(0);
			assert_true(lanes_by_isa[isa](&job, &bursts[0]) == (fits == BURST_MAX ? 0 : UINT64_MAX << fits));
			assert_int_equal(count_addressed(routes, &steering, lanes_by_isa[isa]), BURST_MAX);
		}
	}
	routes_free(routes);
}

/* Sends `count` packets to a table on both paths. The pipeline is new each time, so it builds its own headers. */
static void compare_addressed(
	const struct routes *routes, lanes_fn *fast, uint32_t count, const struct next_hops *next_hops)
{
	const struct steering_config steering = {.hash_fields = STEERING_DESTINATION_ADDRESS, .outbound_mtu = 1500};

	for (unsigned b = 0; b < 2; b++) {
		struct pipeline pipeline = {
			.routes = routes, .next_hops = next_hops, .steering = &steering, .fast = b ? fast : NULL};

		fill_addressed(b);
		bursts[b].count = count;
		pipeline_run(&pipeline, &bursts[b]);
	}
	assert_int_equal(bursts[1].general_path, 0);
	for (uint32_t lane = 0; lane < count; lane++)
		assert_same_lane(lane);
}

static void test_the_fast_path_takes_rows_of_each_length(void **state)
{
	(void)state;
	for (uint8_t number = 0; number < TABLE_MAX_HOPS + ENCAPSULATE_MAX_IPV6; number++) {
		uint8_t hops = (uint8_t)(1 + number % TABLE_MAX_HOPS);
		struct table_set set = {0};
		struct next_hops *several;
		struct routes *routes;

		handmade_table(&set, 100, hops);
		if (number >= TABLE_MAX_HOPS)
			handmade_ipv6(&set.tables[0]);
		handmade_bind(&set, 0, "10.77.0.0/24", TABLE_TCP, 1000, 1000 + BURST_MAX);
		routes = handmade_routes(&set);
		several = random_next_hops(routes);
		for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++)
			for (uint32_t count = BURST_MAX; isa_usable(isa) && count > 0; count /= 3) {
				compare_addressed(routes, lanes_by_isa[isa], count, &one_next_hop);
				compare_addressed(routes, lanes_by_isa[isa], count, several);
			}
		next_hops_free(several);
		routes_free(routes);
	}
}

/* A reload brings rows of 8 hops, and another one rows of 2 again. The pipeline keeps its prebuilt headers. */
static void test_a_reload_changes_the_number_of_hops(void **state)
{
	const struct steering_config steering = {.hash_fields = STEERING_DESTINATION_ADDRESS, .outbound_mtu = 1500};
	struct routes *routes[TABLE_MAX_HOPS + 1] = {0};

	(void)state;
	for (uint8_t hops = 2; hops <= TABLE_MAX_HOPS; hops += 3) {
		struct table_set set = {0};

		handmade_table(&set, 100, hops);
		handmade_bind(&set, 0, "10.77.0.0/24", TABLE_TCP, 1000, 1000 + BURST_MAX);
		routes[hops] = handmade_routes(&set);
	}
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		static const uint8_t order[] = {2, 8, 5, 8, 2};
		struct pipeline kept = {.next_hops = &one_next_hop, .steering = &steering, .fast = lanes_by_isa[isa]};

		for (size_t i = 0; isa_usable(isa) && i < sizeof(order); i++) {
			struct pipeline fresh = {
				.routes = routes[order[i]], .next_hops = &one_next_hop, .steering = &steering};

			kept.routes = routes[order[i]];
			fill_addressed(0);
			fill_addressed(1);
			pipeline_run(&fresh, &bursts[0]);
			pipeline_run(&kept, &bursts[1]);
			assert_int_equal(bursts[1].general_path, 0);
			for (uint32_t lane = 0; lane < BURST_MAX; lane++)
				assert_same_lane(lane);
		}
	}
	for (uint8_t hops = 2; hops <= TABLE_MAX_HOPS; hops += 3)
		routes_free(routes[hops]);
}

/* A packet to 10.77.0.LANE is for one of the last tables, whose indices need more than 8 bits. */
static void test_packets_find_tables_with_large_indices(void **state)
{
	enum { TABLES = 300, FIRST = TABLES - BURST_MAX };
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	for (uint32_t t = 0; t < TABLES; t++) {
		char address[32];

		handmade_table(&set, 1 + t % 3, 2);
		snprintf(address, sizeof(address), "10.77.0.%u", t - FIRST);
		if (t >= FIRST)
			handmade_bind(&set, t, address, TABLE_TCP, 1000, 2000);
	}
	routes = handmade_routes(&set);
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		if (!isa_usable(isa))
			continue;
		compare_addressed(routes, lanes_by_isa[isa], BURST_MAX, &one_next_hop);
		for (uint32_t lane = 0; lane < BURST_MAX; lane++) {
			assert_int_equal(bursts[0].table[lane], FIRST + lane);
			assert_int_equal(bursts[1].table[lane], FIRST + lane);
		}
	}
	routes_free(routes);
}

/* Every address has its own port map, which names its table for one port. The last packet is for port 65535. */
static void test_packets_find_their_tables_among_any_number_of_port_maps(void **state)
{
	static const uint32_t others[] = {0, 1, PORTMAP_FLAT_MAPS - PORTMAP_CONSTANTS - BURST_MAX};

	(void)state;
	first_port = (uint16_t)(65536 - BURST_MAX);
	for (unsigned o = 0; o < sizeof(others) / sizeof(*others); o++) {
		struct table_set set = {0};
		struct routes *routes;

		for (uint32_t t = 0; t < 3; t++)
			handmade_table(&set, 100, 2);
		for (uint32_t i = 0; i < BURST_MAX + others[o]; i++) {
			char address[32];

			snprintf(address, sizeof(address), "10.77.0.%u", i);
			handmade_bind(&set, i % 3, address, TABLE_TCP, (uint16_t)(first_port + i),
				(uint16_t)(first_port + i));
		}
		routes = handmade_routes(&set);
		assert_non_null(routes->portmap->flat);
		assert_int_equal(routes->portmap->map_count, PORTMAP_CONSTANTS + BURST_MAX + others[o]);
		for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
			if (!isa_usable(isa))
				continue;
			compare_addressed(routes, lanes_by_isa[isa], BURST_MAX, &one_next_hop);
			for (uint32_t lane = 0; lane < BURST_MAX; lane++)
				assert_int_equal(bursts[1].table[lane], lane % 3);
		}
		routes_free(routes);
	}
	first_port = 1000;
}

/* Returns a source address, in network order, whose packets get this row of a table. */
static uint32_t find_source(uint32_t table, uint32_t row)
{
	uint8_t key[SIPHASH_KEY_SIZE];
	uint32_t source = 0;

	memset(key, (int)table, sizeof(key)); /* as in handmade_table() */
	while ((siphash(key, &source, sizeof(source)) & 0xffff) != row)
		source++;
	return source;
}

/* Compares both paths. With these sources, lane 0 gets the first row of the last table, and lane 1 its last row. */
static void compare_first_and_last_row(const struct routes *routes, const uint32_t sources[2], lanes_fn *fast)
{
	const struct steering_config steering = {.hash_fields = STEERING_SOURCE_ADDRESS, .outbound_mtu = 1500};
	const uint32_t t = routes->set.count - 1;
	const struct table *table = &routes->set.tables[t];
	const uint32_t rows[2] = {0, TABLE_ROWS - 1};

	for (unsigned b = 0; b < 2; b++) {
		struct pipeline pipeline = {
			.routes = routes, .next_hops = &one_next_hop, .steering = &steering, .fast = b ? fast : NULL};

		fill_addressed(b);
		for (uint32_t lane = 0; lane < BURST_MAX; lane++) {
			uint32_t source = lane < 2 ? sources[lane] : lane * 2654435761u;

			memcpy(bursts[b].frame[lane] + 26, &source, sizeof(source));
		}
		pipeline_run(&pipeline, &bursts[b]);
	}
	assert_int_equal(bursts[1].general_path, 0);
	for (uint32_t lane = 0; lane < BURST_MAX; lane++)
		assert_same_lane(lane);
	for (uint32_t lane = 0; lane < 2; lane++)
		assert_int_equal(bursts[1].backend[lane], routes_backend(routes, t, rows[lane] % table->backend_count));
}

/* Packets are for the last table. No two of its backends have the same address. */
static struct routes *make_numbered_routes(uint32_t tables, uint32_t backends, uint8_t hops)
{
	struct table_set set = {0};

	for (uint32_t t = 0; t < tables; t++)
		handmade_table(&set, backends, hops);
	for (uint32_t i = 0; i < backends; i++) {
		uint32_t address = htonl(0x0a000000 + i);

		set.tables[tables - 1].backends[i].addr = netaddr_from_bytes(NETADDR_V4, &address);
	}
	handmade_bind(&set, tables - 1, "10.77.0.0/24", TABLE_TCP, 1000, 1000 + BURST_MAX);
	return handmade_routes(&set);
}

/* Backend indices of each number of bits that a table can need, in few tables and in many. */
static void test_the_fast_path_finds_backends_of_each_number(void **state)
{
	static const uint32_t numbers[] = {1, 2, 3, 4, 5, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257, 512, 513, 1024,
		1025, 2048, 2049, TABLE_MAX_BACKENDS};

	(void)state;
	for (uint32_t tables = 1; tables <= 6; tables += 5) {
		const uint32_t sources[2] = {find_source(tables - 1, 0), find_source(tables - 1, TABLE_ROWS - 1)};

		for (size_t n = 0; n < sizeof(numbers) / sizeof(*numbers); n += STEP)
			for (uint8_t hops = 2; hops <= 6 && (hops == 2 || hops <= numbers[n]); hops += 2) {
				struct routes *routes = make_numbered_routes(tables, numbers[n], hops);

				for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++)
					if (isa_usable(isa))
						compare_first_and_last_row(routes, sources, lanes_by_isa[isa]);
				routes_free(routes);
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_packets_of_misfits_take_the_general_path),
		cmocka_unit_test(test_the_fast_path_takes_rows_of_each_length),
		cmocka_unit_test(test_a_reload_changes_the_number_of_hops),
		cmocka_unit_test(test_packets_find_tables_with_large_indices),
		cmocka_unit_test(test_packets_find_their_tables_among_any_number_of_port_maps),
		cmocka_unit_test(test_the_fast_path_finds_backends_of_each_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
