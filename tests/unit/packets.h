/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds frames for tests, header by header from the outside in. Each call updates what depends on the appended bytes:
 * every IP header, outer or quoted, covers the rest of the packet, and the Ethernet type before the outer IP header
 * names its family. A test that needs a wrong header changes its bytes afterwards.
 */
#pragma once

#include <assert.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/netaddr.h"

#define PACKET_MAX 10240

#define CLIENT  "192.0.2.33"
#define VIP     "10.10.10.10"
#define CLIENT6 "2001:db8::33"
#define VIP6    "fdb4::10"

struct packet {
	uint8_t bytes[PACKET_MAX];
	uint32_t size;
	uint32_t ip[2]; /* offsets of the outer and the quoted IP header */
	unsigned ip_count;
};

/* Sets the length in every IP header so that it covers all bytes so far. */
static inline void packet_fix_lengths(struct packet *packet)
{
	for (unsigned i = 0; i < packet->ip_count; i++) {
		uint8_t *ip = packet->bytes + packet->ip[i];
		uint32_t size = packet->size - packet->ip[i];

		if (ip[0] >> 4 == 4)
			store_be16(ip + 2, (uint16_t)size);
		else if (size >= 40)
			store_be16(ip + 4, (uint16_t)(size - 40));
	}
}

/* Appends bytes that belong to no IP packet, with any value. Returns the first. */
static inline uint8_t *packet_padding(struct packet *packet, uint32_t size)
{
	uint8_t *at = packet->bytes + packet->size;

	assert(packet->size + size <= PACKET_MAX);
	packet->size += size;
	return at;
}

/* Appends zeros, which all IP headers so far cover. Returns the first. */
static inline uint8_t *packet_append(struct packet *packet, uint32_t size)
{
	uint8_t *at = packet_padding(packet, size);

	memset(at, 0, size);
	packet_fix_lengths(packet);
	return at;
}

static inline uint8_t *packet_ip(struct packet *packet, uint32_t size, uint16_t type, uint8_t version)
{
	uint8_t *ip;

	if (packet->ip_count == 0)
		store_be16(packet->bytes + packet->size - 2, type);
	packet->ip[packet->ip_count++] = packet->size;
	ip = packet_append(packet, size);
	ip[0] = (uint8_t)(version << 4);
	packet_fix_lengths(packet);
	return ip;
}

static inline void packet_address(uint8_t *to, const char *text)
{
	struct netaddr addr;

	assert(netaddr_parse(text, &addr));
	memcpy(to, addr.bytes, netaddr_size(&addr));
}

static inline struct packet packet_ethernet(void)
{
	static const uint8_t macs[12] = {0x02, 0, 0, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x77};
	struct packet packet = {.size = 14};

	memcpy(packet.bytes, macs, sizeof(macs));
	return packet;
}

/* Appends a VLAN tag. type: 0x8100 or 0x88a8, written before the tag; the next header writes the type in the tag. */
static inline void packet_tag(struct packet *packet, uint16_t type)
{
	store_be16(packet->bytes + packet->size - 2, type);
	store_be16(packet_append(packet, 4), 0x0123);
}

/* Appends an IPv4 header without options. Returns it. */
static inline uint8_t *packet_ipv4(struct packet *packet, const char *source, const char *destination, uint8_t protocol)
{
	uint8_t *ip = packet_ip(packet, 20, 0x0800, 4);

	ip[0] = 0x45;
	ip[8] = 61;
	ip[9] = protocol;
	packet_address(ip + 12, source);
	packet_address(ip + 16, destination);
	return ip;
}

/*
 * Appends `words` 4-byte words of options to the last IPv4 header. Their bytes are valid ports, to detect code that
 * reads them as ports.
 */
static inline void packet_options(struct packet *packet, unsigned words)
{
	uint8_t *ip = packet->bytes + packet->ip[packet->ip_count - 1];

	memset(packet_append(packet, 4 * words), 0x77, 4 * words);
	ip[0] = (uint8_t)(0x45 + words);
}

static inline uint8_t *packet_ipv6(struct packet *packet, const char *source, const char *destination, uint8_t next)
{
	uint8_t *ip = packet_ip(packet, 40, 0x86dd, 6);

	ip[6] = next;
	ip[7] = 61;
	packet_address(ip + 8, source);
	packet_address(ip + 24, destination);
	return ip;
}

/* Appends hop-by-hop, routing or destination options of 8 + 8 * units bytes. Returns them. */
static inline uint8_t *packet_extension(struct packet *packet, uint8_t next, uint8_t units)
{
	uint8_t *header = packet_append(packet, 8 + 8u * units);

	memset(header, 0x77, 8 + 8u * units);
	header[0] = next;
	header[1] = units;
	return header;
}

/* Appends an IPv6 fragment header. offset: in units of 8 bytes. Returns it. */
static inline uint8_t *packet_fragment(struct packet *packet, uint8_t next, uint16_t offset, bool more)
{
	uint8_t *header = packet_append(packet, 8);

	header[0] = next;
	header[1] = 0xff; /* reserved; must not be read as a length */
	store_be16(header + 2, (uint16_t)(offset << 3 | more));
	return header;
}

/* Appends the first `size` bytes of a TCP or UDP header, at least the ports. Returns them. */
static inline uint8_t *packet_ports(struct packet *packet, uint32_t size, uint16_t source, uint16_t destination)
{
	uint8_t *at = packet_append(packet, size);

	store_be16(at, source);
	store_be16(at + 2, destination);
	return at;
}

static inline uint8_t *packet_icmp(struct packet *packet, uint8_t type, uint8_t code)
{
	uint8_t *icmp = packet_append(packet, 8);

	icmp[0] = type;
	icmp[1] = code;
	return icmp;
}

/* Complete packets from the client to the VIP. */
static inline struct packet packet_tcp4(uint16_t source, uint16_t destination)
{
	struct packet packet = packet_ethernet();

	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_TCP);
	packet_ports(&packet, 20, source, destination);
	return packet;
}

static inline struct packet packet_tcp6(uint16_t source, uint16_t destination)
{
	struct packet packet = packet_ethernet();

	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_TCP);
	packet_ports(&packet, 20, source, destination);
	return packet;
}

/* An ICMP error from a router to the VIP. The test appends the quote. */
static inline struct packet packet_error4(uint8_t type)
{
	struct packet packet = packet_ethernet();

	packet_ipv4(&packet, "198.51.100.1", VIP, IPPROTO_ICMP);
	packet_icmp(&packet, type, 4);
	return packet;
}

static inline struct packet packet_error6(uint8_t type)
{
	struct packet packet = packet_ethernet();

	packet_ipv6(&packet, "2001:db8:ffff::1", VIP6, IPPROTO_ICMPV6);
	packet_icmp(&packet, type, 0);
	return packet;
}
