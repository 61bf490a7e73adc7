/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/flow.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "common/netaddr.h"
#include "common/span.h"
#include "packet/admission.h"

enum {
	FRAGMENT_SIZE = 8,
	MAX_EXTENSIONS = 8,
	QUOTED_SIZE = 8, /* bytes after the quoted IP header that every ICMP error has (RFC 792) */
};

/* An IP packet, received or quoted, after its IP headers were parsed. */
struct packet {
	struct span payload; /* what follows the IP header and its extensions */
	const uint8_t *source, *destination;
	uint32_t size; /* bytes of the whole IP packet by its header */
	uint16_t ping_hint; /* IPv4 identification, or the low 16 bits of the IPv6 flow label */
	uint8_t family;
	uint8_t protocol; /* of the payload */
	bool fragmented; /* it is a fragment, first or later */
	bool later_fragment; /* it is not the first fragment, so the payload has no ports */
};

/*
 * available: bytes of the frame from the IP header on, readable or not. It is 0 for a quote: a quote may be cut
 * anywhere, and some senders write a wrong length into it. So its length is not compared with the bytes that are there.
 */
static enum verdict parse_ipv4(struct span at, uint32_t available, struct packet *packet)
{
	const uint8_t *ip = span_peek(&at, NET_IPV4_SIZE);
	uint32_t header_size;
	uint16_t fragment;

	if (!ip)
		return VERDICT_DROP_TRUNCATED;
	header_size = 4u * (ip[0] & 0xf);
	packet->size = load_be16(ip + 2);
	if (ip[0] >> 4 != 4 || header_size < NET_IPV4_SIZE || packet->size < header_size)
		return VERDICT_DROP_MALFORMED;
	if (available && packet->size > available)
		return VERDICT_DROP_TRUNCATED;
	if (available && packet->size < span_size(&at))
		span_cut(&at, packet->size);
	if (!span_take(&at, header_size))
		return VERDICT_DROP_TRUNCATED;
	fragment = load_be16(ip + 6);
	packet->payload = at;
	packet->family = NETADDR_V4;
	packet->source = ip + 12;
	packet->destination = ip + 16;
	packet->ping_hint = load_be16(ip + 4);
	packet->protocol = ip[9];
	packet->fragmented = fragment & NET_IS_FRAGMENT;
	packet->later_fragment = fragment & NET_IS_LATER_FRAGMENT;
	return VERDICT_FORWARDED;
}

enum { NO_EXTENSION, EXTENSION_WITH_SIZE, EXTENSION_FRAGMENT };

/* The kind of each extension header, by its number in the field Next Header. */
static const uint8_t extensions[UINT8_MAX + 1] = {
	[IPPROTO_HOPOPTS] = EXTENSION_WITH_SIZE,
	[IPPROTO_ROUTING] = EXTENSION_WITH_SIZE,
	[IPPROTO_DSTOPTS] = EXTENSION_WITH_SIZE,
	[IPPROTO_FRAGMENT] = EXTENSION_FRAGMENT,
};

/*
 * Walks the extension headers (RFC 8200 section 4) up to a later fragment or to the upper protocol. Each step waits for
 * the load of the one before. So the loop has few instructions: the CPU then begins the next packet meanwhile. The end
 * of a header is compared with the end of the packet before anything is read behind it.
 */
static enum verdict skip_extensions(struct packet *packet)
{
	const uint8_t *at = packet->payload.at, *end = packet->payload.end;
	const uint8_t *last = end - FRAGMENT_SIZE; /* not before the frame, because the IPv6 header is longer */
	uint8_t protocol = packet->protocol;

	for (int left = MAX_EXTENSIONS; extensions[protocol] != NO_EXTENSION; left--) {
		const uint8_t *header = at;

		if (left == 0)
			return at > end ? VERDICT_DROP_TRUNCATED : VERDICT_DROP_EXTENSION_HEADERS;
		if (at > last)
			return VERDICT_DROP_TRUNCATED;
		if (extensions[protocol] == EXTENSION_FRAGMENT) {
			at = header + FRAGMENT_SIZE;
			protocol = header[0];
			packet->fragmented = true;
			packet->later_fragment = load_be16(header + 2) & 0xfff8;
			if (packet->later_fragment)
				break;
		} else {
			at = header + 8 + 8u * header[1];
			protocol = header[0];
		}
	}
	if (at > end)
		return VERDICT_DROP_TRUNCATED;
	packet->payload.at = at;
	packet->protocol = protocol;
	return VERDICT_FORWARDED;
}

static enum verdict parse_ipv6(struct span at, uint32_t available, struct packet *packet)
{
	const uint8_t *ip = span_take(&at, NET_IPV6_SIZE);
	uint32_t payload_size;

	if (!ip)
		return VERDICT_DROP_TRUNCATED;
	payload_size = load_be16(ip + 4);
	packet->size = NET_IPV6_SIZE + payload_size;
	if (ip[0] >> 4 != 6)
		return VERDICT_DROP_MALFORMED;
	if (available && packet->size > available)
		return VERDICT_DROP_TRUNCATED;
	if (available && payload_size < span_size(&at))
		span_cut(&at, payload_size);
	packet->payload = at;
	packet->family = NETADDR_V6;
	packet->source = ip + 8;
	packet->destination = ip + 24;
	packet->ping_hint = load_be16(ip + 2);
	packet->protocol = ip[6];
	return skip_extensions(packet);
}

static void set_addresses(struct flow *flow, const struct packet *packet, bool exchanged)
{
	const uint8_t *source = exchanged ? packet->destination : packet->source;
	const uint8_t *destination = exchanged ? packet->source : packet->destination;

	if (packet->family == NETADDR_V4) {
		memcpy(flow->source, source, 4);
		memcpy(flow->destination, destination, 4);
	} else {
		memcpy(flow->source, source, 16);
		memcpy(flow->destination, destination, 16);
	}
}

/* A later IPv6 fragment with more extension headers hides its upper protocol. It counts as TCP or UDP. */
static bool is_transport_fragment(const struct packet *packet)
{
	return packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP ||
	       (packet->family == NETADDR_V6 && extensions[packet->protocol] == EXTENSION_WITH_SIZE);
}

static bool is_icmp(const struct packet *packet)
{
	return packet->protocol == (packet->family == NETADDR_V4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

static enum verdict parse_later_fragment(const struct packet *packet, bool accepted, struct flow *flow)
{
	flow->kind = FLOW_FRAGMENT;
	flow->protocol = packet->protocol;
	return accepted ? VERDICT_FORWARDED : VERDICT_DROP_UNMATCHED;
}

static void set_payload(struct flow *flow, const struct packet *packet)
{
	if (packet->protocol != IPPROTO_UDP || packet->fragmented)
		return;
	flow->payload = packet->payload.at + NET_UDP_SIZE;
	flow->payload_size = (uint32_t)span_size(&packet->payload) - NET_UDP_SIZE;
}

/* Parses the quote in an ICMP error: a packet that a proxy sent, cut anywhere. Exchanges source and destination. */
static enum verdict parse_quote(struct span at, uint8_t family, struct flow *flow)
{
	struct packet quote = {0};
	enum verdict verdict = family == NETADDR_V4 ? parse_ipv4(at, 0, &quote) : parse_ipv6(at, 0, &quote);
	const uint8_t *ports;

	if (verdict != VERDICT_FORWARDED)
		return verdict;
	set_addresses(flow, &quote, true);
	if (quote.later_fragment)
		return parse_later_fragment(&quote, is_transport_fragment(&quote), flow);
	if (quote.protocol != IPPROTO_TCP && quote.protocol != IPPROTO_UDP)
		return VERDICT_DROP_UNMATCHED;
	ports = span_peek(&quote.payload, QUOTED_SIZE);
	if (!ports)
		return VERDICT_DROP_TRUNCATED;
	flow->kind = FLOW_ICMP_ERROR;
	flow->protocol = quote.protocol;
	flow->source_port = load_be16(ports + 2);
	flow->destination_port = load_be16(ports);
	flow->hint = flow->source_port;
	set_payload(flow, &quote);
	return VERDICT_FORWARDED;
}

static bool icmp_is_error(uint8_t family, uint8_t type)
{
	if (family == NETADDR_V4)
		return type == NET_ICMP_UNREACHABLE || type == NET_ICMP_TIME_EXCEEDED ||
		       type == NET_ICMP_PARAMETER_PROBLEM;
	return type >= NET_ICMPV6_UNREACHABLE && type <= NET_ICMPV6_PARAMETER_PROBLEM;
}

static enum verdict parse_icmp(const struct packet *packet, struct flow *flow)
{
	struct span at = packet->payload;
	const uint8_t *icmp = span_take(&at, NET_ICMP_SIZE);
	uint8_t echo_request = packet->family == NETADDR_V4 ? NET_ICMP_ECHO_REQUEST : NET_ICMPV6_ECHO_REQUEST;

	if (!icmp)
		return VERDICT_DROP_TRUNCATED;
	if (icmp_is_error(packet->family, icmp[0])) {
		flow->reply_allowed = false;
		return parse_quote(at, packet->family, flow);
	}
	if (icmp[0] != echo_request)
		return VERDICT_DROP_UNMATCHED;
	flow->kind = FLOW_ECHO;
	flow->protocol = packet->protocol;
	flow->hint = packet->ping_hint;
	return VERDICT_FORWARDED;
}

static enum verdict parse_transport(const struct packet *packet, struct flow *flow)
{
	const uint8_t *ports = span_peek(&packet->payload, packet->protocol == IPPROTO_TCP ? NET_TCP_SIZE : NET_UDP_SIZE);

	if (!ports)
		return VERDICT_DROP_TRUNCATED;
	flow->kind = FLOW_TRANSPORT;
	flow->protocol = packet->protocol;
	flow->source_port = load_be16(ports);
	flow->destination_port = load_be16(ports + 2);
	flow->hint = flow->source_port;
	set_payload(flow, packet);
	return VERDICT_FORWARDED;
}

bool flow_is_martian(uint8_t family, const uint8_t *source, const uint8_t *destination)
{
	if (family == NETADDR_V4)
		return admission_is_martian_v4(load_le32(source), load_le32(destination));
	return admission_is_martian_v6(
		load_le64(source), load_le64(source + 8), load_le64(destination), load_le64(destination + 8));
}

static enum verdict parse_payload(const struct packet *packet, struct flow *flow)
{
	if (packet->later_fragment)
		return parse_later_fragment(packet, is_transport_fragment(packet) || is_icmp(packet), flow);
	if (packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP)
		return parse_transport(packet, flow);
	if (is_icmp(packet))
		return parse_icmp(packet, flow);
	return VERDICT_DROP_UNMATCHED;
}

/* Fills *flow, which is 0, from an IP packet of this family. Does not set ip_offset. */
static enum verdict parse_ip(struct span at, uint8_t family, uint32_t size, struct flow *flow)
{
	struct packet packet = {0};
	enum verdict verdict = family == NETADDR_V4 ? parse_ipv4(at, size, &packet) : parse_ipv6(at, size, &packet);

	if (verdict != VERDICT_FORWARDED)
		return verdict;
	flow->family = packet.family;
	flow->ip_size = packet.size;
	flow->martian = flow_is_martian(packet.family, packet.source, packet.destination);
	flow->reply_allowed = !packet.fragmented;
	set_addresses(flow, &packet, false);
	return parse_payload(&packet, flow);
}

enum verdict flow_parse(const uint8_t *frame, uint32_t readable, uint32_t size, struct flow *flow)
{
	struct span at = span_of(frame, readable);
	uint16_t type;

	*flow = (struct flow){0};
	if (!net_skip_ethernet(&at, &type))
		return VERDICT_DROP_TRUNCATED;
	if (type != NET_TYPE_IPV4 && type != NET_TYPE_IPV6)
		return VERDICT_DROP_UNMATCHED;
	flow->ip_offset = (uint32_t)(at.at - frame);
	return parse_ip(at, type == NET_TYPE_IPV4 ? NETADDR_V4 : NETADDR_V6, size - flow->ip_offset, flow);
}

enum verdict flow_parse_ip(uint8_t family, const uint8_t *ip, uint32_t readable, uint32_t size, struct flow *flow)
{
	*flow = (struct flow){0};
	return parse_ip(span_of(ip, readable), family, size, flow);
}
