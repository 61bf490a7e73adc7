/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/icmp/underlay.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "common/netaddr.h"
#include "gue/gue_wire.h"

#define SMALLEST_MTU 68 /* RFC 791 */

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

bool underlay_parse(struct span packet, uint32_t own_address, uint16_t outbound_mtu, struct underlay_note *note)
{
	const uint8_t *ip = take_ipv4(&packet, IPPROTO_ICMP), *icmp = ip ? span_take(&packet, NET_ICMP_SIZE) : NULL;
	const uint8_t *quote = icmp ? take_ipv4(&packet, IPPROTO_UDP) : NULL;
	const uint8_t *udp = quote ? span_peek(&packet, NET_UDP_SIZE) : NULL;
	struct netaddr router;

	if (!udp || icmp[0] != NET_ICMP_UNREACHABLE || icmp[1] != NET_ICMP_FRAGMENTATION_NEEDED)
		return false;
	if (memcmp(ip + 16, &own_address, 4) != 0 || memcmp(quote + 12, &own_address, 4) != 0)
		return false;
	if (!(load_be16(udp) & GUE_PORT_SOURCE_BIT) || load_be16(udp + 2) != GUE_PORT)
		return false;
	router = netaddr_from_bytes(NETADDR_V4, ip + 12);
	*note = (struct underlay_note){.mtu = load_be16(icmp + 6), .guessed = load_be16(icmp + 6) == 0};
	memcpy(&note->router, ip + 12, 4);
	memcpy(&note->backend, quote + 16, 4);
	if (note->guessed)
		note->mtu = guess_mtu(quote, outbound_mtu);
	return note->mtu >= SMALLEST_MTU && note->mtu < outbound_mtu && netaddr_is_unicast(&router);
}
