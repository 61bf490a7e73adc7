/* SPDX-License-Identifier: BSD-3-Clause */
#include "gue/decode.h"

#include <stdbool.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "common/span.h"

/* Moves *at to the UDP header, and ends it where the IPv4 packet ends. */
static enum decode_status parse_ipv4(struct span *at, struct decode_packet *packet)
{
	const uint8_t *ip = span_peek(at, NET_IPV4_SIZE);
	uint32_t header, total;

	if (!ip)
		return DECODE_TRUNCATED;
	header = 4u * (ip[0] & 0xf);
	total = load_be16(ip + 2);
	if (ip[0] >> 4 != 4 || header < NET_IPV4_SIZE || total < header)
		return DECODE_NOT_GUE;
	if (!span_cut(at, total))
		return DECODE_TRUNCATED;
	if (ip[9] != IPPROTO_UDP || load_be16(ip + 6) & NET_IS_FRAGMENT)
		return DECODE_NOT_GUE;
	packet->ttl = ip[8];
	packet->source = netaddr_from_bytes(NETADDR_V4, ip + 12);
	packet->destination = netaddr_from_bytes(NETADDR_V4, ip + 16);
	span_take(at, header);
	return DECODE_OK;
}

/* The same for IPv6. Extension headers are not UDP. */
static enum decode_status parse_ipv6(struct span *at, struct decode_packet *packet)
{
	const uint8_t *ip = span_peek(at, NET_IPV6_SIZE);

	if (!ip)
		return DECODE_TRUNCATED;
	if (ip[0] >> 4 != 6)
		return DECODE_NOT_GUE;
	if (!span_cut(at, NET_IPV6_SIZE + load_be16(ip + 4)))
		return DECODE_TRUNCATED;
	if (ip[6] != IPPROTO_UDP)
		return DECODE_NOT_GUE;
	packet->ttl = ip[7];
	packet->source = netaddr_from_bytes(NETADDR_V6, ip + 8);
	packet->destination = netaddr_from_bytes(NETADDR_V6, ip + 24);
	span_take(at, NET_IPV6_SIZE);
	return DECODE_OK;
}

/* Moves *at from the Ethernet header, over up to two tags, to the UDP header. */
static enum decode_status parse_outer(struct span *at, struct decode_packet *packet)
{
	uint16_t type;

	if (!net_skip_ethernet(at, &type))
		return DECODE_TRUNCATED;
	if (type == NET_TYPE_IPV4)
		return parse_ipv4(at, packet);
	return type == NET_TYPE_IPV6 ? parse_ipv6(at, packet) : DECODE_NOT_GUE;
}

/* udp: the whole datagram, of `length` bytes. */
static enum decode_checksum check_udp(const uint8_t *udp, uint16_t length, const struct decode_packet *packet)
{
	uint32_t sum = (uint32_t)IPPROTO_UDP + length;

	if (load_be16(udp + 6) == 0)
		return DECODE_CHECKSUM_NONE;
	sum = net_checksum_add(sum, packet->source.bytes, sizeof(packet->source.bytes));
	sum = net_checksum_add(sum, packet->destination.bytes, sizeof(packet->destination.bytes));
	sum = net_checksum_add(sum, udp, length);
	return net_checksum_finish(sum) == 0 ? DECODE_CHECKSUM_RIGHT : DECODE_CHECKSUM_WRONG;
}

/* Moves *at to the GUE header, and ends it where the UDP datagram ends. */
static enum decode_status parse_udp(struct span *at, uint16_t port, struct decode_packet *packet)
{
	const uint8_t *udp = span_peek(at, GUE_UDP_SIZE);
	uint16_t length;

	if (!udp)
		return DECODE_TRUNCATED;
	if (load_be16(udp + 2) != port)
		return DECODE_NOT_GUE;
	packet->source_port = load_be16(udp);
	length = load_be16(udp + 4);
	if (length < GUE_UDP_SIZE + GUE_BASE_SIZE || !span_cut(at, length))
		return DECODE_TRUNCATED;
	packet->udp_checksum = check_udp(udp, length, packet);
	span_take(at, GUE_UDP_SIZE);
	return DECODE_OK;
}

static enum decode_status parse_gue(struct span *at, struct decode_packet *packet)
{
	const uint8_t *gue = at->at;
	uint32_t words = gue[0] & GUE_HLEN_MASK, hop_size = netaddr_size(&packet->destination);
	enum netaddr_family family = packet->destination.family;

	if (gue[0] & GUE_VERSION_MASK)
		return DECODE_BAD_VERSION;
	if (gue[0] & GUE_CONTROL_MASK)
		return DECODE_CONTROL;
	if (load_be16(gue + 2))
		return DECODE_BAD_FLAGS;
	if (gue[1] != GUE_INNER_IPV4 && gue[1] != GUE_INNER_IPV6)
		return DECODE_BAD_PROTOCOL;
	if (!span_take(at, 4 + 4 * words))
		return DECODE_BAD_LENGTH;
	if (load_be16(gue + 4) != (family == NETADDR_V4 ? GUE_PRIVATE_TYPE : GUE_PRIVATE_TYPE_IPV6))
		return DECODE_BAD_TYPE;
	if (words != 1u + hop_size / 4 * gue[7])
		return DECODE_BAD_LENGTH;
	if (gue[6] > gue[7])
		return DECODE_BAD_INDEX;
	packet->inner_protocol = gue[1];
	packet->next_hop = gue[6];
	packet->hop_count = gue[7];
	for (unsigned i = 0; i < gue[7]; i++)
		packet->hops[i] = netaddr_from_bytes(family, gue + GUE_BASE_SIZE + i * hop_size);
	packet->inner = at->at;
	packet->inner_size = (uint32_t)span_size(at);
	return DECODE_OK;
}

enum decode_status decode_frame(const uint8_t *frame, size_t size, uint16_t port, struct decode_packet *packet)
{
	struct span at = span_of(frame, size);
	enum decode_status status = parse_outer(&at, packet);

	if (status == DECODE_OK)
		status = parse_udp(&at, port, packet);
	if (status == DECODE_OK)
		status = parse_gue(&at, packet);
	return status;
}

const char *decode_status_name(enum decode_status status)
{
	static const char *const names[] = {
#define X(symbol, name, meaning) [symbol] = name,
		DECODE_STATUS_LIST(X)
#undef X
	};

	return names[status];
}
