/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/icmp/too_big.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "common/netaddr.h"

enum {
	IPV4_MIN_MTU = 576, /* also the largest reply: RFC 1812 section 4.3.2.3 */
	IPV6_MIN_MTU = 1280, /* also the largest reply: RFC 4443 section 3.2 */
};

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

/* Fills the ICMP header. pseudo: the running checksum of the pseudo header, 0 if there is none. */
static void write_icmp(uint8_t *icmp, uint8_t type, uint8_t code, uint32_t mtu, uint32_t quoted, uint32_t pseudo)
{
	icmp[0] = type;
	icmp[1] = code;
	store_be16(icmp + 2, 0);
	store_be32(icmp + 4, mtu);
	store_be16(icmp + 2, net_checksum_finish(net_checksum_add(pseudo, icmp, NET_ICMP_SIZE + quoted)));
}

static uint8_t *write_v4(
	uint8_t *quote, uint32_t readable, const struct encapsulate_outer *outer, uint32_t mtu, uint32_t *size)
{
	uint32_t quoted = at_most(readable, IPV4_MIN_MTU - NET_IPV4_SIZE - NET_ICMP_SIZE);
	uint8_t *icmp = quote - NET_ICMP_SIZE, *ip = icmp - NET_IPV4_SIZE;

	write_icmp(icmp, NET_ICMP_UNREACHABLE, NET_ICMP_FRAGMENTATION_NEEDED, mtu < IPV4_MIN_MTU ? IPV4_MIN_MTU : mtu,
		quoted, 0);
	net_write_ipv4(ip, &(struct net_ipv4){
				   .source = quote + 16,
				   .destination = quote + 12,
				   .total_length = (uint16_t)(NET_IPV4_SIZE + NET_ICMP_SIZE + quoted),
				   .fragment = NET_DONT_FRAGMENT,
				   .protocol = IPPROTO_ICMP,
			   });
	net_write_ethernet(ip - NET_ETHERNET_SIZE, outer->destination_mac, outer->source_mac, NET_TYPE_IPV4);
	*size = NET_ETHERNET_SIZE + NET_IPV4_SIZE + NET_ICMP_SIZE + quoted;
	return ip - NET_ETHERNET_SIZE;
}

static uint8_t *write_v6(
	uint8_t *quote, uint32_t readable, const struct encapsulate_outer *outer, uint32_t mtu, uint32_t *size)
{
	uint32_t quoted = at_most(readable, IPV6_MIN_MTU - NET_IPV6_SIZE - NET_ICMP_SIZE);
	uint8_t *icmp = quote - NET_ICMP_SIZE, *ip = icmp - NET_IPV6_SIZE;

	net_write_ipv6(ip, &(struct net_ipv6){
				   .source = quote + 24,
				   .destination = quote + 8,
				   .payload_length = (uint16_t)(NET_ICMP_SIZE + quoted),
				   .protocol = IPPROTO_ICMPV6,
			   });
	write_icmp(icmp, NET_ICMPV6_TOO_BIG, 0, mtu < IPV6_MIN_MTU ? IPV6_MIN_MTU : mtu, quoted, net_pseudo_sum_ipv6(ip));
	net_write_ethernet(ip - NET_ETHERNET_SIZE, outer->destination_mac, outer->source_mac, NET_TYPE_IPV6);
	*size = NET_ETHERNET_SIZE + NET_IPV6_SIZE + NET_ICMP_SIZE + quoted;
	return ip - NET_ETHERNET_SIZE;
}

/* The frame came to one host from one host. A host that receives an error about a broadcast would amplify it. */
static bool frame_is_unicast(const uint8_t *frame)
{
	return !((frame[0] | frame[6]) & 1);
}

/* Returns whether a reply to the address would come back to a director. */
static bool is_own(const struct netaddr *addr, const struct routes *routes, const struct encapsulate_outer *outer)
{
	const void *own = addr->family == NETADDR_V4 ? (const void *)&outer->source_ip : outer->source_ip6;

	return classify_covers(routes->classifier, addr->family, addr->bytes) ||
	       memcmp(addr->bytes, own, netaddr_size(addr)) == 0;
}

enum too_big_refusal too_big_check(const uint8_t *frame, const struct flow *flow, const struct routes *routes,
	const struct steering_config *steering, const struct encapsulate_outer *outer, struct too_big_limit *limit)
{
	const uint8_t *ip = frame + flow->ip_offset;
	struct netaddr source = netaddr_from_bytes(flow->family, flow->source);
	struct netaddr destination = netaddr_from_bytes(flow->family, flow->destination);

	if (!steering->send_too_big)
		return TOO_BIG_OFF;
	if (!flow->reply_allowed || flow->martian || !frame_is_unicast(frame) || !netaddr_is_unicast(&destination))
		return TOO_BIG_FORBIDDEN;
	if (flow->family == NETADDR_V4 && !steering->reply_without_df && !(load_be16(ip + 6) & NET_DONT_FRAGMENT))
		return TOO_BIG_WITHOUT_DF;
	if (limit && !too_big_limit_take(limit, flow->family, flow->source))
		return TOO_BIG_LIMITED;
	/* This check is the last one because it is the slowest. */
	return is_own(&source, routes, outer) ? TOO_BIG_FORBIDDEN : TOO_BIG_REPLY;
}

uint8_t *too_big_write(uint8_t *ip, uint32_t readable, uint8_t family, const struct encapsulate_outer *outer,
	uint32_t mtu, uint32_t *size)
{
	return family == NETADDR_V4 ? write_v4(ip, readable, outer, mtu, size) : write_v6(ip, readable, outer, mtu, size);
}
