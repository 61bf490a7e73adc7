/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/icmp/underlay.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "common/netaddr.h"
#include "gue/gue_wire.h"

#define SMALLEST_MTU      68 /* RFC 791 */
#define SMALLEST_MTU_IPV6 1280 /* RFC 8200 section 5; messages with less are discarded (RFC 8201 section 4) */

/* Moves *at over an IPv4 header with its options. NULL: it is none, of another protocol, or of a fragment. */
static const uint8_t *take_ipv4(struct span *at, uint8_t protocol)
{
	const uint8_t *ip = span_peek(at, NET_IPV4_SIZE);

	if (!ip || ip[0] >> 4 != 4 || (ip[0] & 0xf) < 5 || ip[9] != protocol || (load_be16(ip + 6) & NET_IS_FRAGMENT))
		return NULL;
	return span_take(at, 4u * (ip[0] & 0xf));
}

/* Guesses the MTU of a router that does not tell it, from the size of the packet that did not fit (RFC 1191
 * section 7). */
static uint16_t plateau_below(uint16_t size)
{
	static const uint16_t plateaus[] = {8166, 4352, 2002, 1492, 1006, 508, 296};

	for (unsigned i = 0; i < sizeof(plateaus) / sizeof(*plateaus); i++)
		if (plateaus[i] < size)
			return plateaus[i];
	return SMALLEST_MTU;
}

/* The packet that is quoted is at most outbound_mtu long. Some routers write a wrong length into it. */
static uint16_t guess_mtu(const uint8_t *quote, uint16_t outbound_mtu)
{
	uint16_t size = load_be16(quote + 2);

	return plateau_below(size > SMALLEST_MTU && size < outbound_mtu ? size : outbound_mtu);
}

/* The same for an IPv6 header without extension headers, which the director's packets do not have. */
static const uint8_t *take_ipv6(struct span *at, uint8_t protocol)
{
	const uint8_t *ip = span_take(at, NET_IPV6_SIZE);

	return ip && ip[0] >> 4 == 6 && ip[6] == protocol ? ip : NULL;
}

/* Returns the MTU of the message, or 0: it is another one. */
static uint32_t read_mtu(const uint8_t *icmp, const uint8_t *quote, bool ipv6, uint16_t outbound_mtu, bool *guessed)
{
	uint32_t mtu = ipv6 ? load_be32(icmp + 4) : load_be16(icmp + 6);

	*guessed = !ipv6 && mtu == 0;
	if (ipv6) /* receivers ignore the code (RFC 4443 section 3.2) */
		return icmp[0] == NET_ICMPV6_TOO_BIG && mtu >= SMALLEST_MTU_IPV6 ? mtu : 0;
	if (icmp[0] != NET_ICMP_UNREACHABLE || icmp[1] != NET_ICMP_FRAGMENTATION_NEEDED)
		return 0;
	if (*guessed)
		mtu = guess_mtu(quote, outbound_mtu);
	return mtu >= SMALLEST_MTU ? mtu : 0;
}

bool underlay_parse(
	struct span packet, const struct netaddr *own_address, uint16_t outbound_mtu, struct underlay_note *note)
{
	enum netaddr_family family = own_address->family;
	bool ipv6 = family == NETADDR_V6;
	unsigned source = ipv6 ? 8 : 12, size = netaddr_size(own_address);
	const uint8_t *ip = ipv6 ? take_ipv6(&packet, IPPROTO_ICMPV6) : take_ipv4(&packet, IPPROTO_ICMP);
	const uint8_t *icmp = ip ? span_take(&packet, NET_ICMP_SIZE) : NULL;
	const uint8_t *quote = !icmp ? NULL : ipv6 ? take_ipv6(&packet, IPPROTO_UDP) : take_ipv4(&packet, IPPROTO_UDP);
	const uint8_t *udp = quote ? span_peek(&packet, NET_UDP_SIZE) : NULL;
	uint32_t mtu;

	if (!udp || memcmp(ip + source + size, own_address->bytes, size) != 0 ||
		memcmp(quote + source, own_address->bytes, size) != 0)
		return false;
	if (!(load_be16(udp) & GUE_PORT_SOURCE_BIT) || load_be16(udp + 2) != GUE_PORT)
		return false;
	*note = (struct underlay_note){
		.router = netaddr_from_bytes(family, ip + source),
		.backend = netaddr_from_bytes(family, quote + source + size),
	};
	mtu = read_mtu(icmp, quote, ipv6, outbound_mtu, &note->guessed);
	note->mtu = (uint16_t)mtu;
	return mtu && mtu < outbound_mtu && netaddr_is_unicast(&note->router) && netaddr_is_unicast(own_address);
}
