/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the golden packets of tests/vectors/packets.json through the pipeline, in bursts as full as possible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/byteorder.h"
#include "packet/pipeline.h"
#include "table/file/json/table_json.h"
#include "table/rows/table_build.h"
#include "tests/unit/vectors.h"

#define FRAME_MAX  10240
#define TABLES_MAX 64

static json_t *document;
static struct {
	const char *name;
	struct routes *routes;
} built[TABLES_MAX]; /* once for all passes: a table costs more than all of its packets */
static struct burst burst;
static lanes_fn *fast; /* the fast path to test; NULL: the general path, which also fills hash, row and hops */
static const json_t *cases[BURST_MAX]; /* the packet in each lane */
static uint8_t rooms[BURST_MAX][BURST_HEADROOM + FRAME_MAX];

static struct routes *build_routes(const char *name)
{
	char *text = json_dumps(vectors_get(vectors_get(document, "tables"), name), 0);
	struct faults faults = {.file = name};
	struct table_set set;
	struct routes *routes = NULL;

	if (table_json_parse(text, strlen(text), &set, &faults) == 0 && table_build(&set, 1) == 0)
		routes = routes_create(&set, &faults);
	if (!routes)
		fail_msg("%s", faults_first_error(&faults));
	faults_clear(&faults);
	free(text);
	return routes;
}

static const struct routes *routes_of(const char *name)
{
	uint32_t i = 0;

	while (i < TABLES_MAX && built[i].name && strcmp(built[i].name, name) != 0)
		i++;
	assert_true(i < TABLES_MAX);
	if (!built[i].name)
		built[i].routes = build_routes(name);
	built[i].name = name;
	return built[i].routes;
}

static struct next_hops next_hops;

static struct pipeline make_pipeline(
	const json_t *config, const struct steering_config *steering, const struct routes *routes)
{
	struct pipeline pipeline = {
		.routes = routes,
		.steering = steering,
		.outer.source_ip = inet_addr(vectors_string(config, "outbound_src_ip")),
		.next_hops = &next_hops,
		.fast = fast,
	};

	next_hops = (struct next_hops){.single = true};
	vectors_mac(vectors_string(config, "outbound_gateway_mac"), (uint8_t *)&next_hops.mac);
	vectors_mac(vectors_string(document, "port_mac"), pipeline.outer.source_mac);
	inet_pton(AF_INET6, vectors_string(config, "outbound_src_ip6"), pipeline.outer.source_ip6);
	return pipeline;
}

static void assert_steered(const struct routes *routes, uint32_t lane, const json_t *expected)
{
	const json_t *hops = vectors_get(expected, "hops");

	assert_int_equal(burst.table[lane], vectors_number(expected, "table_index"));
	assert_int_equal(burst.row[lane], vectors_number(expected, "row"));
	assert_int_equal(burst.hash[lane], strtoull(vectors_string(expected, "hash"), NULL, 16));
	assert_int_equal(burst.flow[lane].hint, vectors_number(expected, "hint"));
	if (routes->quic && quic_fate_name(burst.quic[lane]))
		assert_string_equal(quic_fate_name(burst.quic[lane]), vectors_string(expected, "quic"));
	else
		assert_null(json_object_get(expected, "quic"));
	assert_int_equal(burst.hop_count[lane], json_array_size(hops));
	for (size_t i = 0; i < json_array_size(hops); i++) {
		struct netaddr hop = routes_hop(routes, burst.table[lane], burst.hops[lane][i]);
		char text[NETADDR_TEXT_MAX];

		assert_string_equal(netaddr_format(&hop, text), json_string_value(json_array_get(hops, i)));
	}
}

static void assert_lane(const struct routes *routes, uint32_t lane)
{
	const json_t *expected = cases[lane];
	const char *out = json_string_value(vectors_get(expected, "out"));
	uint8_t bytes[FRAME_MAX];

	if (strcmp(verdict_name(burst.verdict[lane]), vectors_string(expected, "verdict")) != 0)
		print_error("%s\n", vectors_string(expected, "name"));
	assert_string_equal(verdict_name(burst.verdict[lane]), vectors_string(expected, "verdict"));
	if (!fast && !json_is_null(vectors_get(expected, "row")))
		assert_steered(routes, lane, expected);
	if (!out) {
		assert_null(burst.out[lane]);
		return;
	}
	assert_int_equal(burst.out_size[lane], vectors_hex(out, bytes, sizeof(bytes)));
	assert_memory_equal(burst.out[lane], bytes, burst.out_size[lane]);
}

static void run_burst(struct pipeline *pipeline)
{
	pipeline_run(pipeline, &burst);
	for (uint32_t lane = 0; lane < burst.count; lane++)
		assert_lane(pipeline->routes, lane);
	burst.count = 0;
}

/* The packets are grouped by table and configuration. A change of these ends a burst. */
static void run_every_golden_packet(void)
{
	const char *config_name = "", *table_name = "";
	struct pipeline pipeline = {.next_hops = &next_hops};
	const struct routes *routes = NULL;
	struct steering_config steering;
	json_t *packet;
	size_t i;

	assert_true(json_array_size(vectors_get(document, "packets")) > 3500);
	json_array_foreach(vectors_get(document, "packets"), i, packet)
	{
		bool other_table = strcmp(vectors_string(packet, "table"), table_name) != 0;
		bool other_config = strcmp(vectors_string(packet, "config"), config_name) != 0;
		uint32_t lane, size;

		if (burst.count == BURST_MAX || other_table || other_config)
			run_burst(&pipeline);
		if (other_table) {
			table_name = vectors_string(packet, "table");
			routes = routes_of(table_name);
		}
		if (other_table || other_config) {
			const json_t *configs = vectors_get(document, "configs");

			config_name = vectors_string(packet, "config");
			steering = vectors_steering(vectors_get(configs, config_name));
			pipeline = make_pipeline(vectors_get(configs, config_name), &steering, routes);
		}
		lane = burst.count++;
		cases[lane] = packet;
		burst.frame[lane] = rooms[lane] + BURST_HEADROOM;
		burst.headroom[lane] = BURST_HEADROOM;
		size = vectors_hex(vectors_string(packet, "frame"), burst.frame[lane], FRAME_MAX);
		burst.readable[lane] = burst.size[lane] = size;
	}
	run_burst(&pipeline);
}

static int load_document(void **state)
{
	(void)state;
	document = vectors_load("packets.json");
	return 0;
}

static int free_all(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TABLES_MAX && built[i].name; i++)
		routes_free(built[i].routes);
	json_decref(document);
	return 0;
}

static void test_every_golden_packet_on_the_general_path(void **state)
{
	(void)state;
	fast = NULL;
	run_every_golden_packet();
}

static void test_every_golden_packet_on_the_fast_path_of_each_isa(void **state)
{
	(void)state;
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		fast = lanes_by_isa[isa];
		if (isa_usable(isa))
			run_every_golden_packet();
		else
			print_message("%s: not on this CPU\n", isa_name(isa));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_golden_packet_on_the_general_path),
		cmocka_unit_test(test_every_golden_packet_on_the_fast_path_of_each_isa),
	};

	return cmocka_run_group_tests(tests, load_document, free_all);
}
