/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/byteorder.h"
#include "packet/exception_class.h"
#include "tests/unit/guarded.h"

enum {
	FRAME_MAX = 128,
	ICMP = 1,
	IGMP = 2,
	TCP = 6,
	UDP = 17,
	FRAGMENT = 44,
	ICMPV6 = 58,
	OSPF = 89,
	VRRP = 112,
	FIRST = 0x2000, /* first fragment */
	LATER = 5, /* later fragment */
	BGP = 179,
};

/* The MAC that a frame is sent to. */
enum { UNICAST, MULTICAST };

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint32_t size;
};

static void append(struct frame *frame, const void *bytes, uint32_t size)
{
	assert_true(frame->size + size <= FRAME_MAX);
	memcpy(frame->bytes + frame->size, bytes, size);
	frame->size += size;
}

static struct frame ethernet(uint8_t mac, uint16_t type, unsigned tags)
{
	struct frame frame = {.size = 12};
	uint8_t field[2];

	frame.bytes[0] = mac == MULTICAST ? 0x01 : 0x02;
	while (tags--)
		append(&frame, (uint8_t[]){0x81, 0x00, 0x00, 0x07}, 4);
	store_be16(field, type);
	append(&frame, field, 2);
	return frame;
}

struct v4 {
	uint8_t protocol, ttl, mac, options; /* words of options */
	uint16_t fragment;
	uint8_t to[4];
	uint16_t ports[2]; /* or ICMP type and code, in the first byte of ports[0] */
	unsigned tags;
};

static struct frame make_v4(struct v4 v4)
{
	struct frame frame = ethernet(v4.mac, 0x0800, v4.tags);
	uint8_t ip[20] = {
		[0] = (uint8_t)(0x45 + v4.options), [8] = v4.ttl ? v4.ttl : 64, [9] = v4.protocol, [12] = 198, [13] = 51, [14] = 100, [15] = 7};
	uint8_t payload[8] = {0};

	store_be16(ip + 6, v4.fragment);
	memcpy(ip + 16, v4.to[0] ? v4.to : (uint8_t[]){192, 0, 2, 1}, 4);
	store_be16(payload, v4.ports[0]);
	store_be16(payload + 2, v4.ports[1]);
	append(&frame, ip, sizeof(ip));
	append(&frame, (uint8_t[40]){0}, 4u * v4.options);
	append(&frame, payload, sizeof(payload));
	return frame;
}

struct v6 {
	uint8_t protocol, hop_limit, mac;
	uint8_t source[2], to[2]; /* the first two bytes of the addresses */
	uint16_t ports[2];
	uint8_t hop_by_hop; /* 1: such a header of 8 bytes, 2: of 16 bytes */
	bool fragment; /* a fragment header */
};

static struct frame make_v6(struct v6 v6)
{
	struct frame frame = ethernet(v6.mac, 0x86dd, 0);
	uint8_t ip[40] = {
		[0] = 0x60, [7] = v6.hop_limit ? v6.hop_limit : 64, [8] = 0x20, [9] = 0x01, [24] = 0x20, [25] = 0x01};
	uint8_t payload[8] = {0}, next = v6.fragment ? FRAGMENT : v6.protocol;

	ip[6] = v6.hop_by_hop ? 0 : next;
	if (v6.source[0])
		memcpy(ip + 8, v6.source, 2);
	if (v6.to[0])
		memcpy(ip + 24, v6.to, 2);
	store_be16(payload, v6.ports[0]);
	store_be16(payload + 2, v6.ports[1]);
	append(&frame, ip, sizeof(ip));
	if (v6.hop_by_hop)
		append(&frame, (uint8_t[16]){next, v6.hop_by_hop - 1}, 8u * v6.hop_by_hop);
	if (v6.fragment)
		append(&frame, (uint8_t[8]){v6.protocol}, 8);
	append(&frame, payload, sizeof(payload));
	return frame;
}

static enum exception_class classify(const struct frame *frame, uint32_t size)
{
	return exception_classify(guarded_copy(frame->bytes, size), size);
}

/* A frame that is cut anywhere is never read beyond its end, and never gets a class of the control plane that it has not as a whole. */
static void check(struct frame frame, enum exception_class expected)
{
	assert_int_equal(classify(&frame, frame.size), expected);
	for (uint32_t size = 0; size < frame.size; size++) {
		enum exception_class cut = classify(&frame, size);

		assert_true(cut == expected || cut == EXCEPTION_OTHER);
	}
}

#define V4(expected, ...) check(make_v4((struct v4){__VA_ARGS__}), EXCEPTION_##expected)
#define V6(expected, ...) check(make_v6((struct v6){__VA_ARGS__}), EXCEPTION_##expected)

static void test_frames_without_ip_that_a_link_needs(void **state)
{
	static const uint16_t control[] = {0x8809, 0x88cc}, others[] = {0x0805, 0x8847, 0x8863, 0x88e5, 0xffff, 0x8100};

	(void)state;
	for (unsigned tags = 0; tags < 3; tags++) {
		check(ethernet(UNICAST, 0x0806, tags), EXCEPTION_NEIGHBOUR);
		for (unsigned i = 0; i < sizeof(control) / sizeof(*control); i++)
			check(ethernet(UNICAST, control[i], tags), EXCEPTION_LINK);
		for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
			check(ethernet(MULTICAST, others[i], tags), EXCEPTION_OTHER);
	}
}

static void test_isis_is_recognised_by_its_llc_header(void **state)
{
	struct frame isis = ethernet(MULTICAST, 20, 0), stp = isis, type = ethernet(MULTICAST, 1501, 0);

	(void)state;
	append(&isis, (uint8_t[]){0xfe, 0xfe, 0x03, 0x83}, 4);
	append(&type, (uint8_t[]){0xfe, 0xfe, 0x03, 0x83}, 4);
	append(&stp, (uint8_t[]){0x42, 0x42, 0x03, 0x00}, 4);
	check(isis, EXCEPTION_LINK);
	check(stp, EXCEPTION_OTHER);
	check(type, EXCEPTION_OTHER);
}

static void test_bgp_in_both_directions(void **state)
{
	(void)state;
	V4(ROUTING, .protocol = TCP, .ports = {40000, BGP});
	V4(ROUTING, .protocol = TCP, .ports = {BGP, 40000});
	V6(ROUTING, .protocol = TCP, .ports = {40000, BGP});
	V6(ROUTING, .protocol = TCP, .ports = {BGP, 40000});
	V4(ROUTING, .protocol = TCP, .ports = {40000, BGP}, .options = 10);
	V4(ROUTING, .protocol = TCP, .ports = {40000, BGP}, .tags = 2);
	V4(OTHER, .protocol = TCP, .ports = {40000, BGP}, .tags = 3);
	V4(OTHER, .protocol = TCP, .ports = {180, 178});
	V4(OTHER, .protocol = UDP, .ports = {BGP, BGP});
}

static void test_bfd_by_its_destination_port(void **state)
{
	static const uint16_t ports[] = {3784, 3785, 4784, 6784};

	(void)state;
	for (unsigned i = 0; i < sizeof(ports) / sizeof(*ports); i++) {
		V4(ROUTING, .protocol = UDP, .ports = {50000, ports[i]});
		V6(ROUTING, .protocol = UDP, .ports = {50000, ports[i]});
		V4(LINK, .protocol = UDP, .ports = {50000, ports[i]}, .ttl = 255);
		V4(OTHER, .protocol = UDP, .ports = {ports[i], 50000});
		V4(OTHER, .protocol = TCP, .ports = {50000, ports[i]});
	}
}

static void test_routing_protocols_that_only_a_neighbour_can_send(void **state)
{
	(void)state;
	V4(LINK, .protocol = TCP, .ports = {40000, BGP}, .ttl = 255);
	V4(ROUTING, .protocol = TCP, .ports = {40000, BGP}, .ttl = 254);
	V4(ROUTING, .protocol = TCP, .ports = {40000, BGP}, .ttl = 1);
	V6(LINK, .protocol = TCP, .ports = {40000, BGP}, .hop_limit = 255);
	V6(LINK, .protocol = TCP, .ports = {40000, BGP}, .hop_limit = 1, .source = {0xfe, 0x80});
	V6(LINK, .protocol = TCP, .ports = {40000, BGP}, .source = {0xfe, 0xbf});
	V6(ROUTING, .protocol = TCP, .ports = {40000, BGP}, .source = {0xfe, 0xc0});
	V6(ROUTING, .protocol = TCP, .ports = {40000, BGP}, .to = {0xfe, 0x80});
	V4(LINK, .protocol = OSPF, .mac = MULTICAST, .ttl = 1, .to = {224, 0, 0, 5});
	V4(LINK, .protocol = VRRP, .mac = MULTICAST, .ttl = 1, .to = {224, 0, 0, 18});
	V4(ROUTING, .protocol = OSPF, .mac = MULTICAST, .to = {224, 0, 1, 5});
	V4(ROUTING, .protocol = OSPF, .ttl = 1);
	V6(LINK, .protocol = OSPF, .mac = MULTICAST, .to = {0xff, 0x02});
	V6(LINK, .protocol = VRRP, .mac = MULTICAST, .to = {0xff, 0x12});
	V6(ROUTING, .protocol = OSPF, .mac = MULTICAST, .to = {0xff, 0x05});
	V6(ROUTING, .protocol = VRRP, .mac = MULTICAST, .to = {0xff, 0x0e});
}

static void test_neighbour_discovery_needs_its_hop_limit(void **state)
{
	(void)state;
	for (uint16_t type = 0; type < 256; type++) {
		bool nd = type >= 133 && type <= 137, mld = (type >= 130 && type <= 132) || type == 143;
		struct frame near =
			make_v6((struct v6){.protocol = ICMPV6, .ports = {(uint16_t)(type << 8)}, .hop_limit = 255});
		struct frame far =
			make_v6((struct v6){.protocol = ICMPV6, .ports = {(uint16_t)(type << 8)}, .hop_limit = 254});

		check(near, nd || mld ? EXCEPTION_NEIGHBOUR : EXCEPTION_ICMP);
		check(far, nd || mld ? EXCEPTION_OTHER : EXCEPTION_ICMP);
	}
	V6(NEIGHBOUR, .protocol = ICMPV6, .mac = MULTICAST, .to = {0xff, 0x02}, .hop_limit = 255, .ports = {135 << 8});
	V6(OTHER, .protocol = ICMPV6, .mac = MULTICAST, .to = {0xff, 0x02}, .hop_limit = 64, .ports = {135 << 8});
	V6(OTHER, .protocol = ICMPV6, .hop_limit = 255, .ports = {135 << 8}, .fragment = true);
}

static void test_multicast_listeners(void **state)
{
	(void)state;
	V6(NEIGHBOUR, .protocol = ICMPV6, .mac = MULTICAST, .source = {0xfe, 0x80}, .hop_limit = 1, .ports = {130 << 8},
		.hop_by_hop = 1);
	V6(NEIGHBOUR, .protocol = ICMPV6, .mac = MULTICAST, .source = {0xfe, 0x80}, .hop_limit = 1, .ports = {143 << 8},
		.hop_by_hop = 2);
	V6(OTHER, .protocol = ICMPV6, .mac = MULTICAST, .hop_limit = 1, .ports = {130 << 8}, .hop_by_hop = 1);
	V4(NEIGHBOUR, .protocol = IGMP, .mac = MULTICAST, .ttl = 1, .to = {224, 0, 0, 1}, .options = 1);
	V4(OTHER, .protocol = IGMP, .mac = MULTICAST, .ttl = 1, .to = {239, 0, 0, 1}, .options = 1);
	V6(OTHER, .protocol = IGMP, .mac = MULTICAST, .to = {0xff, 0x02});
}

static void test_icmp_to_a_unicast_mac(void **state)
{
	(void)state;
	V4(ICMP, .protocol = ICMP, .ports = {8 << 8});
	V4(ICMP, .protocol = ICMP, .ports = {3 << 8 | 4});
	V6(ICMP, .protocol = ICMPV6, .ports = {128 << 8});
	V6(ICMP, .protocol = ICMPV6, .ports = {2 << 8});
	V4(OTHER, .protocol = ICMP, .ports = {8 << 8}, .mac = MULTICAST);
	V6(OTHER, .protocol = ICMPV6, .ports = {128 << 8}, .mac = MULTICAST);
	V6(OTHER, .protocol = ICMP, .ports = {8 << 8});
	V4(OTHER, .protocol = ICMPV6, .ports = {128 << 8});
}

/* The payload of a later fragment is not a header, and BGP, BFD and ICMP need no fragments. */
static void test_fragments(void **state)
{
	(void)state;
	V4(OTHER, .protocol = TCP, .ports = {BGP, BGP}, .fragment = LATER);
	V4(OTHER, .protocol = TCP, .ports = {BGP, BGP}, .fragment = FIRST);
	V4(OTHER, .protocol = UDP, .ports = {0, 3784}, .fragment = LATER, .ttl = 255);
	V4(OTHER, .protocol = ICMP, .fragment = FIRST);
	V6(OTHER, .protocol = TCP, .ports = {BGP, BGP}, .fragment = true);
	V4(ROUTING, .protocol = OSPF, .fragment = LATER);
	V4(LINK, .protocol = OSPF, .fragment = FIRST, .to = {224, 0, 0, 5}, .mac = MULTICAST);
	V6(LINK, .protocol = OSPF, .fragment = true, .to = {0xff, 0x02}, .mac = MULTICAST);
	V6(ROUTING, .protocol = OSPF, .fragment = true);
}

/* The parser does not see multicast, so these may be malformed. */
static void test_malformed_headers_are_of_no_class(void **state)
{
	struct frame v4 = make_v4((struct v4){.protocol = OSPF, .mac = MULTICAST, .to = {224, 0, 0, 5}});
	struct frame v6 = make_v6((struct v6){.protocol = OSPF, .mac = MULTICAST, .to = {0xff, 0x02}});

	(void)state;
	check(v4, EXCEPTION_LINK);
	check(v6, EXCEPTION_LINK);
	v4.bytes[14] = 0x44;
	check(v4, EXCEPTION_OTHER);
	v4.bytes[14] = 0x65;
	check(v4, EXCEPTION_OTHER);
	v6.bytes[14] = 0x45;
	check(v6, EXCEPTION_OTHER);
}

/* No sequence of bytes makes it read beyond the end, and none has an unknown class. */
static void test_random_bytes(void **state)
{
	uint64_t random = 88172645463325252u;

	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		static const uint16_t types[] = {0x0800, 0x86dd, 0x8100, 20};
		struct frame frame = {.size = round % FRAME_MAX};

		for (unsigned i = 0; i < FRAME_MAX; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			frame.bytes[i] = (uint8_t)(random >> 32);
		}
		store_be16(frame.bytes + 12, types[round % 4]);
		assert_in_range(classify(&frame, frame.size), 0, EXCEPTION_CLASSES - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_without_ip_that_a_link_needs),
		cmocka_unit_test(test_isis_is_recognised_by_its_llc_header),
		cmocka_unit_test(test_bgp_in_both_directions),
		cmocka_unit_test(test_bfd_by_its_destination_port),
		cmocka_unit_test(test_routing_protocols_that_only_a_neighbour_can_send),
		cmocka_unit_test(test_neighbour_discovery_needs_its_hop_limit),
		cmocka_unit_test(test_multicast_listeners),
		cmocka_unit_test(test_icmp_to_a_unicast_mac),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_malformed_headers_are_of_no_class),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
