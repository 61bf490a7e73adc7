/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/exception_class.h"

#include <stdbool.h>

#include "common/net.h"

enum {
	TYPE_ARP = 0x0806,
	TYPE_SLOW = 0x8809, /* LACP and other slow protocols */
	TYPE_LLDP = 0x88cc,
	LARGEST_LENGTH = 1500, /* up to here, the type is the length of an LLC frame */
	PROTOCOL_OSPF = 89,
	PROTOCOL_VRRP = 112,
	PORT_BGP = 179,
	PORT_BFD = 3784,
	PORT_BFD_ECHO = 3785,
	PORT_BFD_MULTIHOP = 4784,
	PORT_BFD_LAG = 6784,
	ND_FIRST = 133, /* router solicitation */
	ND_LAST = 137, /* redirect */
	MLD_FIRST = 130, /* query */
	MLD_LAST = 132,
	MLD_REPORT = 143, /* version 2 */
	EXTENSION_SIZE = 8,
	HOP_LIMIT_OF_NEIGHBOUR = 255, /* no router has forwarded the packet (RFC 5082) */
};

/* The properties of an IP packet that decide its class. */
struct packet {
	struct span payload;
	uint8_t protocol, hop_limit;
	bool v6;
	bool unicast; /* the frame's destination MAC is unicast */
	bool fragment; /* first or later */
	bool from_link; /* only a host on the link can have sent it */
};

static enum exception_class exception_class_routing(const struct packet *packet)
{
	return packet->from_link ? EXCEPTION_LINK : EXCEPTION_ROUTING;
}

static enum exception_class classify_ports(const struct packet *packet)
{
	const uint8_t *ports = span_peek(&packet->payload, 4);
	uint16_t source, destination;

	if (!ports || packet->fragment)
		return EXCEPTION_OTHER;
	source = load_be16(ports);
	destination = load_be16(ports + 2);
	if (packet->protocol == IPPROTO_TCP)
		return source == PORT_BGP || destination == PORT_BGP ? exception_class_routing(packet) : EXCEPTION_OTHER;
	return destination == PORT_BFD || destination == PORT_BFD_ECHO || destination == PORT_BFD_MULTIHOP ||
			       destination == PORT_BFD_LAG
		       ? exception_class_routing(packet)
		       : EXCEPTION_OTHER;
}

/* Hosts ignore ND with another hop limit than 255, and ND in fragments (RFC 4861, RFC 6980). */
static enum exception_class classify_icmp(const struct packet *packet)
{
	const uint8_t *icmp = span_peek(&packet->payload, 1);
	enum exception_class usual = packet->unicast ? EXCEPTION_ICMP : EXCEPTION_OTHER;

	if (!icmp || packet->fragment)
		return EXCEPTION_OTHER;
	if (packet->v6 && *icmp >= ND_FIRST && *icmp <= ND_LAST)
		return packet->hop_limit == HOP_LIMIT_OF_NEIGHBOUR ? EXCEPTION_NEIGHBOUR : EXCEPTION_OTHER;
	if (packet->v6 && ((*icmp >= MLD_FIRST && *icmp <= MLD_LAST) || *icmp == MLD_REPORT))
		return packet->from_link ? EXCEPTION_NEIGHBOUR : EXCEPTION_OTHER;
	return usual;
}

static enum exception_class classify_ip(const struct packet *packet)
{
	switch (packet->protocol) {
	case PROTOCOL_OSPF:
	case PROTOCOL_VRRP:
		return exception_class_routing(packet);
	case IPPROTO_TCP:
	case IPPROTO_UDP:
		return classify_ports(packet);
	case IPPROTO_ICMP:
		return packet->v6 ? EXCEPTION_OTHER : classify_icmp(packet);
	case IPPROTO_ICMPV6:
		return packet->v6 ? classify_icmp(packet) : EXCEPTION_OTHER;
	case IPPROTO_IGMP:
		return packet->from_link && !packet->v6 ? EXCEPTION_NEIGHBOUR : EXCEPTION_OTHER;
	default:
		return EXCEPTION_OTHER;
	}
}

static enum exception_class classify_v4(struct span at, bool unicast)
{
	const uint8_t *ip = span_peek(&at, NET_IPV4_SIZE);
	struct packet packet = {.unicast = unicast};

	/* The parser has not seen this packet if it is broadcast or multicast. */
	if (!ip || ip[0] >> 4 != 4 || (ip[0] & 0xf) < 5 || !span_take(&at, 4u * (ip[0] & 0xf)))
		return EXCEPTION_OTHER;
	packet.payload = at;
	packet.protocol = ip[9];
	packet.hop_limit = ip[8];
	packet.fragment = load_be16(ip + 6) & NET_IS_FRAGMENT;
	/* Routers do not forward 224.0.0.0/24 (RFC 5771). */
	packet.from_link = ip[8] == HOP_LIMIT_OF_NEIGHBOUR || (ip[16] == 224 && ip[17] == 0 && ip[18] == 0);
	return classify_ip(&packet);
}

/* Takes a hop-by-hop header, which MLD has, and then a fragment header, which large OSPF packets have. */
static enum exception_class classify_v6(struct span at, bool unicast)
{
	const uint8_t *ip = span_take(&at, NET_IPV6_SIZE), *header;
	struct packet packet = {.unicast = unicast, .v6 = true};

	if (!ip || ip[0] >> 4 != 6)
		return EXCEPTION_OTHER;
	packet.protocol = ip[6];
	packet.hop_limit = ip[7];
	/* Routers forward neither link-local sources nor multicast of a scope up to link-local (RFC 4291). */
	packet.from_link = ip[7] == HOP_LIMIT_OF_NEIGHBOUR || (ip[8] == 0xfe && (ip[9] & 0xc0) == 0x80) ||
			   (ip[24] == 0xff && (ip[25] & 0xf) <= 2);
	if (packet.protocol == IPPROTO_HOPOPTS) {
		header = span_peek(&at, EXTENSION_SIZE);
		if (!header || !span_take(&at, EXTENSION_SIZE + EXTENSION_SIZE * (size_t)header[1]))
			return EXCEPTION_OTHER;
		packet.protocol = header[0];
	}
	if (packet.protocol == IPPROTO_FRAGMENT) {
		header = span_take(&at, EXTENSION_SIZE);
		if (!header)
			return EXCEPTION_OTHER;
		packet.protocol = header[0];
		packet.fragment = true;
	}
	packet.payload = at;
	return classify_ip(&packet);
}

/* IS-IS has no type: it is an LLC frame with this service access point, followed by its protocol identifier (ISO
 * 10589). */
static bool is_isis(uint16_t type, struct span at)
{
	const uint8_t *llc = span_peek(&at, 4);

	return type <= LARGEST_LENGTH && llc && llc[0] == 0xfe && llc[1] == 0xfe && llc[2] == 3 && llc[3] == 0x83;
}

enum exception_class exception_classify(const uint8_t *frame, uint32_t readable)
{
	struct span at = span_of(frame, readable);
	bool unicast;
	uint16_t type;

	if (!net_skip_ethernet(&at, &type))
		return EXCEPTION_OTHER;
	unicast = !(frame[0] & 1);
	switch (type) {
	case NET_TYPE_IPV4:
		return classify_v4(at, unicast);
	case NET_TYPE_IPV6:
		return classify_v6(at, unicast);
	case TYPE_ARP:
		return EXCEPTION_NEIGHBOUR;
	case TYPE_SLOW:
	case TYPE_LLDP:
		return EXCEPTION_LINK;
	default:
		return is_isis(type, at) ? EXCEPTION_LINK : EXCEPTION_OTHER;
	}
}
