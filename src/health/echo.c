/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/echo.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "common/span.h"
#include "gue/encapsulate.h"
#include "gue/gue_wire.h"

#define ECHO_SIZE (NET_ICMP_SIZE + ECHO_NONCE_SIZE)

/* RFC 2890 */
#define GRE_SIZE        8 /* with a key */
#define GRE_KEY_PRESENT 0x2000

static void write_icmp(uint8_t *to, uint8_t type, const struct echo *echo, uint32_t pseudo_header)
{
	memset(to, 0, NET_ICMP_SIZE);
	to[0] = type;
	store_be16(to + 4, echo->identifier);
	store_be16(to + 6, echo->sequence);
	memcpy(to + NET_ICMP_SIZE, echo->nonce, ECHO_NONCE_SIZE);
	store_be16(to + 2, net_checksum_finish(net_checksum_add(pseudo_header, to, ECHO_SIZE)));
}

static size_t write_ipv4(
	uint8_t *to, const struct netaddr *source, const struct netaddr *destination, const struct echo *echo)
{
	net_write_ipv4(to, &(struct net_ipv4){
				   .source = source->bytes,
				   .destination = destination->bytes,
				   .total_length = NET_IPV4_SIZE + ECHO_SIZE,
				   .identification = echo->sequence,
				   .protocol = IPPROTO_ICMP,
			   });
	write_icmp(to + NET_IPV4_SIZE, NET_ICMP_ECHO_REQUEST, echo, 0);
	return NET_IPV4_SIZE + ECHO_SIZE;
}

static size_t write_ipv6(
	uint8_t *to, const struct netaddr *source, const struct netaddr *destination, const struct echo *echo)
{
	net_write_ipv6(to, &(struct net_ipv6){
				   .source = source->bytes,
				   .destination = destination->bytes,
				   .payload_length = ECHO_SIZE,
				   .protocol = IPPROTO_ICMPV6,
			   });
	write_icmp(to + NET_IPV6_SIZE, NET_ICMPV6_ECHO_REQUEST, echo, net_pseudo_sum_ipv6(to));
	return NET_IPV6_SIZE + ECHO_SIZE;
}

size_t echo_write(uint8_t to[ECHO_MAX_SIZE], const struct netaddr *source, const struct netaddr *destination,
	const struct echo *echo)
{
	return (destination->family == NETADDR_V4 ? write_ipv4 : write_ipv6)(to, source, destination, echo);
}

size_t echo_write_gue(uint8_t to[ECHO_TUNNEL_MAX_SIZE], enum netaddr_family outer, const struct netaddr *source,
	const struct netaddr *destination, const struct echo *echo)
{
	uint8_t protocol = destination->family == NETADDR_V4 ? GUE_INNER_IPV4 : GUE_INNER_IPV6;
	size_t header = encapsulate_write_gue(to, false, 0, protocol);

	store_be16(to + sizeof(struct gue_header), outer == NETADDR_V6 ? GUE_PRIVATE_TYPE_IPV6 : GUE_PRIVATE_TYPE);
	return header + echo_write(to + header, source, destination, echo);
}

size_t echo_write_gre(uint8_t to[ECHO_TUNNEL_MAX_SIZE], const struct netaddr *source, const struct netaddr *destination,
	const struct echo *echo)
{
	memset(to, 0, GRE_SIZE);
	store_be16(to, GRE_KEY_PRESENT);
	store_be16(to + 2, destination->family == NETADDR_V4 ? NET_TYPE_IPV4 : NET_TYPE_IPV6);
	return GRE_SIZE + echo_write(to + GRE_SIZE, source, destination, echo);
}

static bool read_icmp(struct span span, uint8_t type, struct echo *echo)
{
	const uint8_t *icmp = span_take(&span, ECHO_SIZE);

	if (!icmp || span_size(&span) != 0 || icmp[0] != type || icmp[1] != 0)
		return false;
	echo->identifier = load_be16(icmp + 4);
	echo->sequence = load_be16(icmp + 6);
	memcpy(echo->nonce, icmp + NET_ICMP_SIZE, ECHO_NONCE_SIZE);
	return true;
}

bool echo_read_reply(const uint8_t *icmp, size_t size, enum netaddr_family family, struct echo *echo)
{
	return read_icmp(span_of(icmp, size), family == NETADDR_V4 ? NET_ICMP_ECHO_REPLY : NET_ICMPV6_ECHO_REPLY, echo);
}

bool echo_read_reply_ipv4(const uint8_t *packet, size_t size, struct echo *echo)
{
	struct span span = span_of(packet, size);
	const uint8_t *header = span_peek(&span, NET_IPV4_SIZE);

	return header && span_take(&span, (size_t)(header[0] & 0x0f) * 4) && read_icmp(span, NET_ICMP_ECHO_REPLY, echo);
}

bool echo_read_request(const uint8_t *packet, size_t size, struct echo *echo)
{
	struct span span = span_of(packet, size);
	bool ipv6 = size > 0 && packet[0] >> 4 == 6;

	return span_take(&span, ipv6 ? NET_IPV6_SIZE : NET_IPV4_SIZE) &&
	       read_icmp(span, ipv6 ? NET_ICMPV6_ECHO_REQUEST : NET_ICMP_ECHO_REQUEST, echo);
}
