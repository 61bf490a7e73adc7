/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gue/decode.h"
#include "gue/encapsulate.h"
#include "tests/unit/guarded.h"
#include "tests/unit/vectors.h"

#define FRAME_MAX 2048

static void assert_address(const struct netaddr *address, const char *expected)
{
	char text[NETADDR_TEXT_MAX];

	assert_string_equal(netaddr_format(address, text), expected);
}

static void assert_fields(const json_t *fields, const struct decode_packet *packet)
{
	const json_t *hops = vectors_get(fields, "hops");
	uint8_t inner[FRAME_MAX];
	uint32_t inner_size = vectors_hex(vectors_string(fields, "inner"), inner, sizeof(inner));

	assert_address(&packet->source, vectors_string(fields, "src"));
	assert_address(&packet->destination, vectors_string(fields, "dst"));
	assert_int_equal(packet->source_port, vectors_number(fields, "udp_src_port"));
	assert_int_equal(packet->inner_protocol, vectors_number(fields, "inner_protocol"));
	assert_int_equal(packet->next_hop, vectors_number(fields, "next_hop"));
	assert_int_equal(packet->hop_count, json_array_size(hops));
	for (size_t i = 0; i < json_array_size(hops); i++)
		assert_address(&packet->hops[i], json_string_value(json_array_get(hops, i)));
	assert_int_equal(packet->inner_size, inner_size);
	assert_memory_equal(packet->inner, inner, inner_size);
}

static void test_every_golden_vector(void **state)
{
	json_t *cases = vectors_load("gue.json"), *one;
	size_t i;

	(void)state;
	assert_true(json_array_size(cases) > 800);
	json_array_foreach(cases, i, one)
	{
		uint8_t bytes[FRAME_MAX];
		uint32_t size = vectors_hex(vectors_string(one, "frame"), bytes, sizeof(bytes));
		struct decode_packet packet;
		enum decode_status status = decode_frame(guarded_copy(bytes, size), size, GUE_PORT, &packet);

		if (strcmp(decode_status_name(status), vectors_string(one, "status")) != 0)
			print_error("%s\n", vectors_string(one, "name"));
		assert_string_equal(decode_status_name(status), vectors_string(one, "status"));
		if (status == DECODE_OK)
			assert_fields(vectors_get(one, "fields"), &packet);
	}
	json_decref(cases);
}

static const struct encapsulate_outer both = {.source_ip = 0x010200c0, .source_ip6 = {0x20, 1, [15] = 1}};

/* Fills the addresses that hops of either family stand for: hop i ends with the byte i + 1. */
static void fill_hops(uint32_t hops[ENCAPSULATE_MAX_HOPS], struct net_ipv6_address *ipv6)
{
	for (uint32_t i = 0; i < ENCAPSULATE_MAX_HOPS; i++) {
		hops[i] = ipv6 ? i : htonl(0xc0a83201 + i);
		if (ipv6)
			ipv6[i] = (struct net_ipv6_address){{0xfd, [15] = (uint8_t)(i + 1)}};
	}
}

static void test_decodes_what_encapsulate_writes_for_any_number_of_hops(void **state)
{
	struct net_ipv6_address addresses[ENCAPSULATE_MAX_HOPS];
	uint32_t hops[ENCAPSULATE_MAX_HOPS];

	(void)state;
	for (unsigned n = 0; n < ENCAPSULATE_MAX_HOPS + ENCAPSULATE_MAX_IPV6; n++) {
		struct net_ipv6_address *ipv6 = n < ENCAPSULATE_MAX_HOPS ? NULL : addresses;
		unsigned count = 1 + n % ENCAPSULATE_MAX_HOPS, last = ipv6 ? 15 : 3;
		uint32_t size = encapsulate_size(ipv6, count) + 33;
		uint8_t *frame = guarded_end() - size;
		struct decode_packet packet;

		fill_hops(hops, ipv6);
		encapsulate_write(frame, &both, hops, count, ipv6, 33, GUE_INNER_IPV6, 0xabcd);
		assert_int_equal(decode_frame(frame, size, GUE_PORT, &packet), DECODE_OK);
		assert_address(&packet.source, ipv6 ? "2001::1" : "192.0.2.1");
		assert_address(&packet.destination, ipv6 ? "fd00::1" : "192.168.50.1");
		assert_int_equal(packet.ttl, 64);
		assert_int_equal(packet.source_port, 0xabcd);
		assert_int_equal(packet.inner_protocol, GUE_INNER_IPV6);
		assert_int_equal(packet.next_hop, 0);
		assert_int_equal(packet.hop_count, count - 1);
		for (unsigned i = 1; i < count; i++)
			assert_int_equal(packet.hops[i - 1].bytes[last], i + 1);
		assert_ptr_equal(packet.inner, frame + encapsulate_size(ipv6, count));
		assert_int_equal(packet.inner_size, 33);
	}
}

static void test_decodes_the_port_that_the_caller_gives(void **state)
{
	struct encapsulate_outer outer = {.source_ip = 1};
	uint32_t hop = 2, size = encapsulate_size(false, 1) + 20;
	uint8_t frame[200] = {0};
	struct decode_packet packet;

	(void)state;
	encapsulate_write(frame, &outer, &hop, 1, NULL, 20, GUE_INNER_IPV4, 0x8000);
	assert_int_equal(decode_frame(frame, size, 6080, &packet), DECODE_NOT_GUE);
	frame[36] = 6080 >> 8;
	frame[37] = 6080 & 0xff;
	assert_int_equal(decode_frame(frame, size, 6080, &packet), DECODE_OK);
	assert_int_equal(decode_frame(frame, size, GUE_PORT, &packet), DECODE_NOT_GUE);
}

static void test_total_length_below_the_header_length_is_not_gue(void **state)
{
	struct encapsulate_outer outer = {.source_ip = 1};
	uint32_t hop = 2, size = encapsulate_size(false, 1) + 60;
	uint8_t frame[200] = {0};
	struct decode_packet packet;

	(void)state;
	encapsulate_write(frame, &outer, &hop, 1, NULL, 60, GUE_INNER_IPV4, 0x8000);
	frame[14] = 0x4f;
	for (uint8_t total = 8; total < 60; total++) {
		frame[17] = total;
		/* A decoder that went on would read the IP header as UDP, with this number as the port. */
		assert_int_equal(decode_frame(frame, size, total, &packet), DECODE_NOT_GUE);
	}
}

/* Guard pages and sanitizers detect reads outside the frame. The inner packet must be inside the frame. */
static void test_nothing_outside_damaged_frames_is_read(void **state)
{
	struct net_ipv6_address addresses[ENCAPSULATE_MAX_HOPS];
	uint32_t hops[ENCAPSULATE_MAX_HOPS];

	(void)state;
	srandom(11);
	for (int i = 0; i < 200000; i++) {
		struct net_ipv6_address *ipv6 = i % 2 ? addresses : NULL;
		uint32_t whole = encapsulate_size(ipv6, 4) + 40, size = (uint32_t)random() % (whole + 1);
		uint8_t bytes[200] = {0};
		uint8_t *frame;
		struct decode_packet packet;

		fill_hops(hops, ipv6);
		encapsulate_write(bytes, &both, hops, 4, ipv6, 40, GUE_INNER_IPV4, 0x8000);
		for (int flips = 0; flips < 3; flips++)
			bytes[12 + (uint32_t)random() % (ipv6 ? 70 : 50)] = (uint8_t)random();
		frame = guarded_copy(bytes, size);
		if (decode_frame(frame, size, GUE_PORT, &packet) == DECODE_OK)
			assert_true(packet.inner >= frame && packet.inner + packet.inner_size <= frame + size);
	}
}

static void test_status_names_are_those_in_the_vectors(void **state)
{
	static const char *const names[] = {"ok", "not_gue", "truncated", "bad_version", "control", "bad_flags",
		"bad_protocol", "bad_length", "bad_type", "bad_index"};

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(decode_status_name((enum decode_status)i), names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_golden_vector),
		cmocka_unit_test(test_decodes_what_encapsulate_writes_for_any_number_of_hops),
		cmocka_unit_test(test_decodes_the_port_that_the_caller_gives),
		cmocka_unit_test(test_total_length_below_the_header_length_is_not_gue),
		cmocka_unit_test(test_nothing_outside_damaged_frames_is_read),
		cmocka_unit_test(test_status_names_are_those_in_the_vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
