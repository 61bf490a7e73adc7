/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions about the flow that the parser finds. Include cmocka.h first. */
#pragma once

#include "packet/flow.h"
#include "tests/unit/guarded.h"
#include "tests/unit/packets.h"

static inline enum verdict parse(const struct packet *packet, struct flow *flow)
{
	return flow_parse(guarded_copy(packet->bytes, packet->size), packet->size, packet->size, flow);
}

static inline void assert_verdict(const struct packet *packet, enum verdict expected)
{
	struct flow flow;

	assert_string_equal(verdict_name(parse(packet, &flow)), verdict_name(expected));
}

/* Asserts kind, addresses and ports of the flow. Returns the flow for more checks. */
static inline struct flow assert_flow(const struct packet *packet, enum flow_kind kind, const char *source,
	uint16_t source_port, const char *destination, uint16_t destination_port)
{
	uint8_t bytes[16] = {0};
	struct flow flow;

	assert_string_equal(verdict_name(parse(packet, &flow)), "forwarded");
	assert_int_equal(flow.kind, kind);
	packet_address(bytes, source);
	assert_memory_equal(flow.source, bytes, 16);
	memset(bytes, 0, 16);
	packet_address(bytes, destination);
	assert_memory_equal(flow.destination, bytes, 16);
	assert_int_equal(flow.source_port, source_port);
	assert_int_equal(flow.destination_port, destination_port);
	return flow;
}

static inline struct flow assert_flow_of_packet(const struct packet *packet)
{
	bool v4 = packet->bytes[packet->ip[0]] >> 4 == 4;

	return assert_flow(packet, FLOW_TRANSPORT, v4 ? CLIENT : CLIENT6, 1234, v4 ? VIP : VIP6, 80);
}

static inline struct flow assert_flow_of_quote(const struct packet *packet)
{
	bool v4 = packet->bytes[packet->ip[0]] >> 4 == 4;

	return assert_flow(packet, FLOW_ICMP_ERROR, v4 ? CLIENT : CLIENT6, 1234, v4 ? VIP : VIP6, 80);
}

/* Appends the quote of a packet that a proxy sent, from the VIP to the client. */
static inline void quote4(struct packet *packet, uint8_t protocol, unsigned option_words, uint32_t size)
{
	packet_ipv4(packet, VIP, CLIENT, protocol);
	packet_options(packet, option_words);
	packet_ports(packet, size, 80, 1234);
}
