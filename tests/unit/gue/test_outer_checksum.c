/* SPDX-License-Identifier: BSD-3-Clause */
/* The outer UDP checksum: the memory that is read, rare sums, and corrupted packets. The golden packets have its values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/net.h"
#include "gue/encapsulate.h"
#include "gue/outer_checksum.h"
#include "tests/unit/guarded.h"
#include "tests/unit/packets.h"

static const struct encapsulate_outer outer = {.source_ip = 0x010200c0, .source_ip6 = {0x20, 1, 0xd, 0xb8, [15] = 0xfe}};
static const struct net_ipv6_address addresses[] = {
	{{0xfd, 0x50, [15] = 10}}, {{0xfd, 0x50, [15] = 11}}, {{0xfd, 0x50, [15] = 12}}, {{0xff, 0xff, [15] = 0xff}}};
static bool six; /* write() writes outer IPv6 */
static const uint32_t indices[] = {0, 1, 2, 3};
static const uint32_t hops[ENCAPSULATE_MAX_HOPS] = {0x0a32a8c0, 0x0b32a8c0, 0x0c32a8c0, 0x0d32a8c0};

/* The sum of a UDP datagram and its pseudo-header, by the definition: 0xffff if its checksum is right. */
static uint16_t received_sum(const uint8_t *ip, uint32_t size)
{
	uint32_t header = ip[0] >> 4 == 4 ? NET_IPV4_SIZE : NET_IPV6_SIZE, udp = size - header;
	uint32_t sum = net_checksum_add(
		IPPROTO_UDP + udp, ip + (header == NET_IPV4_SIZE ? 12 : 8), header == NET_IPV4_SIZE ? 8 : 32);

	return (uint16_t)~net_checksum_finish(net_checksum_add(sum, ip + header, udp));
}

/* Fills the checksum of the last IP header's TCP segment or UDP datagram. */
static void seal(struct packet *packet)
{
	uint8_t *ip = packet->bytes + packet->ip[0];
	bool v4 = ip[0] >> 4 == 4;
	uint32_t offset = v4 ? 4u * (ip[0] & 15) : NET_IPV6_SIZE, size = packet->size - packet->ip[0] - offset;
	uint8_t protocol = v4 ? ip[9] : ip[6], *transport = ip + offset;
	uint8_t *checksum = transport + (protocol == IPPROTO_TCP ? 16 : 6);
	uint32_t sum = net_checksum_add(protocol + size, v4 ? ip + 12 : ip + 8, v4 ? 8 : 32);

	if (v4) {
		store_be16(ip + 10, 0);
		store_be16(ip + 10, net_checksum_finish(net_checksum_add(0, ip, offset)));
	}
	store_be16(checksum, 0);
	store_be16(checksum, net_checksum_finish(net_checksum_add(sum, transport, size)));
}

/*
 * Encapsulates the packet, of which only `readable` bytes may be read, and fills the checksum. Returns the outer IPv4
 * header; *size: of the whole packet.
 */
static uint8_t *write(const struct packet *packet, unsigned count, uint32_t readable, uint32_t *size)
{
	uint32_t inner = packet->size - packet->ip[0], headers = encapsulate_size(six, count);
	uint8_t *to = guarded_end() - headers - readable;
	uint8_t version = packet->bytes[packet->ip[0]] >> 4;

	memcpy(to + headers, packet->bytes + packet->ip[0], readable);
	encapsulate_write(to, &outer, six ? indices : hops, count, six ? addresses : NULL, inner,
		version == 4 ? GUE_INNER_IPV4 : GUE_INNER_IPV6, 0x8123);
	*size = headers - NET_ETHERNET_SIZE + inner;
	outer_checksum_write(to + NET_ETHERNET_SIZE, headers - NET_ETHERNET_SIZE + readable);
	return to + NET_ETHERNET_SIZE;
}

static struct packet with_payload(struct packet packet, uint32_t size)
{
	uint8_t *payload = packet_append(&packet, size);

	for (uint32_t i = 0; i < size; i++)
		payload[i] = (uint8_t)random();
	seal(&packet);
	return packet;
}

static void test_valid_packets_get_a_right_checksum(void **state)
{
	(void)state;
	srandom(11);
	for (unsigned i = 0; i < 8000; i++) {
		struct packet packet = i % 2 ? packet_tcp4((uint16_t)i, 80) : packet_tcp6((uint16_t)i, 80);
		uint32_t size;
		uint8_t *ip;

		six = i & 2;
		packet = with_payload(packet, i % 1400);
		ip = write(&packet, 1 + i % 4, packet.size - packet.ip[0], &size);
		assert_int_equal(received_sum(ip, size), 0xffff);
		assert_int_not_equal(load_be16(ip + (six ? 46 : 26)), 0);
	}
	six = false;
}

/* The director reads no more than the first buffer of a long packet. */
static void test_only_headers_of_tcp_are_read(void **state)
{
	(void)state;
	for (unsigned way = 0; way < 4; way++) {
		unsigned v6 = way % 2, at = way > 1 ? 46 : 26;
		struct packet packet = with_payload(v6 ? packet_tcp6(1, 80) : packet_tcp4(1, 80), 1000);
		uint32_t size;
		uint8_t whole[2], *ip;

		six = way > 1;
		ip = write(&packet, 2, packet.size - packet.ip[0], &size);
		memcpy(whole, ip + at, 2);
		for (uint32_t readable = (v6 ? 40 : 20) + 20; readable < 200; readable++) {
			ip = write(&packet, 2, readable, &size);
			assert_memory_equal(ip + at, whole, 2);
		}
	}
	six = false;
}

static void test_packet_that_cannot_be_read_as_a_whole_has_no_checksum(void **state)
{
	struct packet packet = packet_ethernet();
	uint32_t size, inner;
	uint8_t *ip;

	(void)state;
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_ICMP);
	packet_icmp(&packet, 8, 0);
	packet_append(&packet, 101);
	inner = packet.size - packet.ip[0];
	for (uint32_t readable = 28; readable < inner; readable++) {
		ip = write(&packet, 2, readable, &size);
		assert_int_equal(load_be16(ip + 26), 0);
	}
	ip = write(&packet, 2, inner, &size);
	assert_int_not_equal(load_be16(ip + 26), 0);
	assert_int_equal(received_sum(ip, size), 0xffff);
}

/* One payload word out of 65536 makes the checksum 0, which would mean that there is none. */
static void test_checksum_is_never_none(void **state)
{
	unsigned full = 0, derived = 0;

	(void)state;
	for (unsigned kind = 0; kind < 2; kind++) {
		for (uint32_t word = 0; word < 0x10000; word++) {
			struct packet packet = packet_ethernet();
			uint32_t size;
			uint8_t *ip;

			if (kind) {
				packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_TCP);
				packet_ports(&packet, 20, 1, 80);
				store_be16(packet.bytes + packet.ip[0] + 2, (uint16_t)word); /* the flow label */
			} else {
				packet_ipv4(&packet, CLIENT, VIP, IPPROTO_ICMP);
				packet_icmp(&packet, 8, 0);
				store_be16(packet_append(&packet, 2), (uint16_t)word);
			}
			ip = write(&packet, 2, packet.size - packet.ip[0], &size);
			assert_int_not_equal(load_be16(ip + 26), 0);
			*(kind ? &derived : &full) += load_be16(ip + 26) == 0xffff;
		}
	}
	assert_in_range(full, 1, 2);
	assert_in_range(derived, 1, 2);
}

/* A bit that flips anywhere in the packet, except in what the derivation reads, makes the checksum wrong. */
static void test_corrupted_packets_get_a_wrong_checksum(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct packet packet = with_payload(v6 ? packet_tcp6(40000, 80) : packet_tcp4(40000, 80), 40);
		uint32_t begin = packet.ip[0] + (v6 ? 40 : 20);

		for (uint32_t bit = 8 * begin; bit < 8 * packet.size; bit++) {
			struct packet corrupted = packet;
			uint32_t size;
			uint8_t *ip;

			corrupted.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			ip = write(&corrupted, 2, packet.size - packet.ip[0], &size);
			assert_int_not_equal(received_sum(ip, size), 0xffff);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_packets_get_a_right_checksum),
		cmocka_unit_test(test_only_headers_of_tcp_are_read),
		cmocka_unit_test(test_packet_that_cannot_be_read_as_a_whole_has_no_checksum),
		cmocka_unit_test(test_checksum_is_never_none),
		cmocka_unit_test(test_corrupted_packets_get_a_wrong_checksum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
