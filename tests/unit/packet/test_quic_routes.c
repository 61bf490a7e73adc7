/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend that a connection ID names, and its place among the hops of a packet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "packet/steer.h"
#include "tests/unit/guarded.h"
#include "tests/unit/handmade.h"
#include "tests/unit/table_helpers.h"

static struct table_set set;
static struct routes *routes;
static const struct steering_config by_port = {.hash_fields = STEERING_SOURCE_PORT};

static int clear(void **state)
{
	(void)state;
	routes_free(routes);
	routes = NULL;
	table_set_free(&set);
	return 0;
}

/* A table of 100 backends for UDP port 443 of 10.0.0.1. */
static struct table *quic_table(uint8_t hops)
{
	struct table *table = handmade_table(&set, 100, hops);

	handmade_quic(table);
	handmade_bind(&set, set.count - 1, "10.0.0.1", TABLE_UDP, 443, 443);
	table->binds[0].quic = true;
	return table;
}

static enum quic_fate find(const uint8_t *payload, uint32_t size, uint32_t *backend)
{
	return quic_routes_find(routes->tables[0].quic, payload, size, false, backend);
}

/* Puts a short header before the connection ID of a backend. Returns the size. */
static uint32_t datagram(uint8_t *payload, uint32_t config, uint32_t backend)
{
	payload[0] = 0x40;
	return 1 + handmade_cid(&routes->set.tables[0], config, backend, payload + 1);
}

static void test_every_configuration_finds_every_backend(void **state)
{
	uint8_t payload[64];

	(void)state;
	quic_table(2);
	routes = handmade_routes(&set);
	for (uint32_t config = 0; config < 5; config++)
		for (uint32_t b = 0; b < 100; b++) {
			uint32_t size = datagram(payload, config, b), found;

			assert_int_equal(find(payload, size, &found), QUIC_ROUTED);
			assert_int_equal(found, b);
			assert_int_equal(find(payload, size - 1, &found), QUIC_UNROUTABLE_SHORT);
			assert_int_equal(found, QUIC_NO_SERVER);
		}
}

static void test_no_byte_beyond_the_datagram_is_read(void **state)
{
	uint8_t payload[300] = {0xc0, 0, 0, 0, 1};
	uint32_t found;

	(void)state;
	quic_table(2);
	routes = handmade_routes(&set);
	for (uint32_t config = 0; config < 5; config++) {
		for (unsigned length = 0; length < 256; length++) {
			payload[5] = (uint8_t)length;
			for (uint32_t size = 0, whole = 6 + handmade_cid(&routes->set.tables[0], config, 7, payload + 6);
				size <= whole; size++)
				find(guarded_copy(payload, size), size, &found);
		}
		for (uint32_t size = 0, whole = datagram(payload + 100, config, 7); size <= whole; size++)
			assert_int_equal(
				find(guarded_copy(payload + 100, size), size, &found) == QUIC_ROUTED, size == whole);
	}
}

static void test_backend_counts_by_its_state(void **state)
{
	struct table *table = quic_table(2);
	static const enum quic_fate fates[] = {
		QUIC_ROUTED, QUIC_DOWN, QUIC_UNROUTABLE_SERVER, QUIC_ROUTED, QUIC_UNROUTABLE_SERVER, QUIC_ROUTED};
	uint8_t payload[64];
	uint32_t found;

	(void)state;
	table->backends[1].healthy = false;
	table->backends[2].state = TABLE_INACTIVE;
	table->backends[3].state = TABLE_DRAINING;
	table->backends[4].state = TABLE_INACTIVE;
	table->backends[4].healthy = false;
	table->backends[5].state = TABLE_FILLING;
	routes = handmade_routes(&set);
	for (uint32_t b = 0; b < 6; b++)
		assert_int_equal(find(payload, datagram(payload, 0, b), &found), fates[b]);
}

static void test_server_ids_of_different_lengths_are_different(void **state)
{
	struct table *table = quic_table(2);
	uint8_t payload[32] = {0x40, 4 << 5, 0x11, 0x22, 0x33};
	uint32_t found;

	(void)state;
	table->backends[9].server_ids[0] = (struct quic_server_id){3, {0x11, 0x22, 0x33}};
	routes = handmade_routes(&set);
	assert_int_equal(find(payload, sizeof(payload), &found), QUIC_UNROUTABLE_SERVER); /* 11 22 33 00 00 */
}

static void test_random_connection_ids_name_no_server(void **state)
{
	uint32_t found, routed = 0;

	(void)state;
	quic_table(2);
	routes = handmade_routes(&set);
	for (uint32_t i = 0; i < 200000; i++) {
		uint64_t payload[4] = {random_u64(), random_u64(), random_u64(), random_u64()};

		routed += find((const uint8_t *)payload, 1 + random_below(32), &found) == QUIC_ROUTED;
	}
	assert_true(routed < 10); /* 100 of 2^24 server IDs are in use */
}

static void test_largest_table_finds_its_servers(void **state)
{
	uint8_t payload[64];
	uint32_t found;

	(void)state;
	handmade_quic(handmade_table(&set, TABLE_MAX_BACKENDS, 2));
	handmade_bind(&set, 0, "10.0.0.1", TABLE_UDP, 443, 443);
	set.tables[0].binds[0].quic = true;
	routes = handmade_routes(&set);
	for (uint32_t b = 0; b < TABLE_MAX_BACKENDS; b += 37) {
		assert_int_equal(find(payload, datagram(payload, 0, b), &found), QUIC_ROUTED);
		assert_int_equal(found, b);
	}
}

static struct flow flow_to(uint16_t source_port, uint16_t port, const uint8_t *payload, uint32_t size)
{
	struct flow flow = {.family = NETADDR_V4,
		.kind = FLOW_TRANSPORT,
		.protocol = IPPROTO_UDP,
		.source_port = source_port,
		.destination_port = port,
		.destination = {10, 0, 0, 1},
		.payload = payload,
		.payload_size = size};

	return flow;
}

/* Compares the hops with the rule: server, or first hop of the row and server; then the others of the row. */
static void assert_hops(const struct steer_result *result, const struct table *table, uint32_t server)
{
	const uint16_t *row = table->rows + (size_t)result->row * table->row_hops;
	bool behind = !table->backends[server].healthy && table->backends[row[0]].healthy;
	uint32_t expected[TABLE_MAX_HOPS + 1], count = 0;

	if (behind)
		expected[count++] = row[0];
	expected[count++] = server;
	for (uint32_t i = behind; i < table->row_hops; i++)
		if (row[i] != server)
			expected[count++] = row[i];
	assert_int_equal(result->hop_count, table->row_hops < 2 && count > 1 ? 2 : table->row_hops);
	for (uint32_t i = 0; i < result->hop_count; i++)
		assert_int_equal(result->hops[i], handmade_address(0, expected[i]));
}

static void test_server_takes_its_place_among_the_hops(void **state)
{
	(void)state;
	for (uint8_t hops = 1; hops <= TABLE_MAX_HOPS; hops++) {
		for (uint32_t down = 0; down < 3; down++) { /* none, every third, all */
			struct table *table = quic_table(hops);

			for (uint32_t b = 0; b < 100; b++)
				table->backends[b].healthy = down == 0 || (down == 1 && b % 3);
			routes = handmade_routes(&set);
			for (uint32_t i = 0; i < 2000; i++) {
				uint8_t payload[64];
				uint32_t server = random_below(100), size = datagram(payload, i % 5, server);
				struct flow flow = flow_to((uint16_t)i, 443, payload, size);
				struct steer_result result = steer_flow(&flow, routes, &by_port);

				assert_int_equal(result.server, server);
				assert_hops(&result, &routes->set.tables[0], server);
			}
			clear(state);
		}
	}
}

static void test_no_hop_has_the_address_of_another(void **state)
{
	struct table *table = quic_table(2);
	uint8_t payload[64];

	(void)state;
	for (uint32_t b = 1; b < 100; b += 2) /* pairs of the same address, of which one is down */
		table->backends[b].addr = table->backends[b - 1].addr;
	for (uint32_t b = 0; b < 100; b += 3)
		table->backends[b].healthy = false;
	routes = handmade_routes(&set);
	for (uint32_t i = 0; i < 20000; i++) {
		struct flow flow = flow_to((uint16_t)i, 443, payload, datagram(payload, 2, random_below(100)));
		struct steer_result result = steer_flow(&flow, routes, &by_port);

		assert_true(result.hop_count == 1 || result.hops[0] != result.hops[1]);
	}
}

/* Returns what a packet of the flow counts as. */
static enum quic_fate fate_to(uint16_t port)
{
	uint8_t payload[64];
	struct flow flow = flow_to(1, port, payload, datagram(payload, 0, 3));

	return steer_flow(&flow, routes, &by_port).quic;
}

static void test_bind_with_quic_wins_over_others_of_its_table(void **state)
{
	(void)state;
	for (unsigned order = 0; order < 2; order++) {
		struct table *table = quic_table(2);

		handmade_bind(&set, 0, "10.0.0.0/24", TABLE_UDP, 400, 500);
		handmade_bind(&set, 0, "10.0.0.1", TABLE_UDP, 440, 450);
		table->binds[0].quic = order == 0;
		table->binds[1].quic = order == 1;
		table->binds[2].quic = false;
		routes = handmade_routes(&set);
		assert_int_equal(fate_to(443), QUIC_ROUTED);
		assert_int_equal(fate_to(441), order == 1 ? QUIC_ROUTED : QUIC_NONE);
		clear(state);
	}
}

static void test_earlier_table_wins_over_one_with_quic(void **state)
{
	(void)state;
	handmade_table(&set, 10, 2);
	handmade_bind(&set, 0, "10.0.0.0/8", TABLE_UDP, 1, 65535);
	handmade_quic(handmade_table(&set, 10, 2));
	handmade_bind(&set, 1, "10.0.0.1", TABLE_UDP, 443, 443);
	set.tables[1].binds[0].quic = true;
	memcpy(set.tables[0].quic, set.tables[1].quic, sizeof(set.tables[0].quic));
	routes = handmade_routes(&set);
	assert_int_equal(fate_to(443), QUIC_NONE);
}

static void test_quic_needs_a_udp_bind_and_a_configuration(void **state)
{
	struct table *table = quic_table(2);
	uint8_t payload[64];
	struct flow flow;

	(void)state;
	table->binds[0].protocol = TABLE_TCP;
	routes = handmade_routes(&set);
	flow = flow_to(1, 443, payload, datagram(payload, 0, 3));
	flow.protocol = IPPROTO_TCP;
	assert_int_equal(steer_flow(&flow, routes, &by_port).quic, QUIC_NONE);
	clear(state);
	quic_table(2)->quic_count = 0;
	routes = handmade_routes(&set);
	assert_false(routes->quic);
	assert_int_equal(fate_to(443), QUIC_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_every_configuration_finds_every_backend, clear),
		cmocka_unit_test_teardown(test_no_byte_beyond_the_datagram_is_read, clear),
		cmocka_unit_test_teardown(test_backend_counts_by_its_state, clear),
		cmocka_unit_test_teardown(test_server_ids_of_different_lengths_are_different, clear),
		cmocka_unit_test_teardown(test_random_connection_ids_name_no_server, clear),
		cmocka_unit_test_teardown(test_largest_table_finds_its_servers, clear),
		cmocka_unit_test_teardown(test_server_takes_its_place_among_the_hops, clear),
		cmocka_unit_test_teardown(test_no_hop_has_the_address_of_another, clear),
		cmocka_unit_test_teardown(test_bind_with_quic_wins_over_others_of_its_table, clear),
		cmocka_unit_test_teardown(test_earlier_table_wins_over_one_with_quic, clear),
		cmocka_unit_test_teardown(test_quic_needs_a_udp_bind_and_a_configuration, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
