/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/echo.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/checksum.h"
#include "common/span.h"
#include "gue/encapsulate.h"
#include "gue/gue_wire.h"

enum {
	IPV4_SIZE = 20,
	IPV6_SIZE = 40,
	ICMP_SIZE = 8,
	HOP_LIMIT = 64,
	PROTOCOL_ICMP = 1,
	PROTOCOL_ICMPV6 = 58,
	ICMP_REQUEST = 8,
	ICMP_REPLY = 0,
	ICMPV6_REQUEST = 128,
	ICMPV6_REPLY = 129,
};

#define ECHO_SIZE (ICMP_SIZE + ECHO_NONCE_SIZE)

static void write_icmp(uint8_t *to, uint8_t type, const struct echo *echo, uint32_t pseudo_header)
{
	memset(to, 0, ICMP_SIZE);
	to[0] = type;
	store_be16(to + 4, echo->identifier);
	store_be16(to + 6, echo->sequence);
	memcpy(to + ICMP_SIZE, echo->nonce, ECHO_NONCE_SIZE);
	store_be16(to + 2, checksum_finish(checksum_add(pseudo_header, to, ECHO_SIZE)));
}

static size_t write_ipv4(
	uint8_t *to, const struct netaddr *source, const struct netaddr *destination, const struct echo *echo)
{
	memset(to, 0, IPV4_SIZE);
	to[0] = 0x45;
	store_be16(to + 2, IPV4_SIZE + ECHO_SIZE);
	store_be16(to + 4, echo->sequence);
	to[8] = HOP_LIMIT;
	to[9] = PROTOCOL_ICMP;
	memcpy(to + 12, source->bytes, 4);
	memcpy(to + 16, destination->bytes, 4);
	store_be16(to + 10, checksum_finish(checksum_add(0, to, IPV4_SIZE)));
	write_icmp(to + IPV4_SIZE, ICMP_REQUEST, echo, 0);
	return IPV4_SIZE + ECHO_SIZE;
}

static size_t write_ipv6(
	uint8_t *to, const struct netaddr *source, const struct netaddr *destination, const struct echo *echo)
{
	uint8_t lengths[8] = {0}; /* the rest of the pseudo-header of RFC 8200, 8.1 */
	uint32_t sum;

	memset(to, 0, 8);
	to[0] = 0x60;
	store_be16(to + 4, ECHO_SIZE);
	to[6] = PROTOCOL_ICMPV6;
	to[7] = HOP_LIMIT;
	memcpy(to + 8, source->bytes, 16);
	memcpy(to + 24, destination->bytes, 16);
	store_be32(lengths, ECHO_SIZE);
	lengths[7] = PROTOCOL_ICMPV6;
	sum = checksum_add(checksum_add(0, to + 8, 32), lengths, sizeof(lengths));
	write_icmp(to + IPV6_SIZE, ICMPV6_REQUEST, echo, sum);
	return IPV6_SIZE + ECHO_SIZE;
}

size_t echo_write(uint8_t to[ECHO_MAX_SIZE], const struct netaddr *source, const struct netaddr *destination,
	const struct echo *echo)
{
	return (destination->family == NETADDR_V4 ? write_ipv4 : write_ipv6)(to, source, destination, echo);
}

size_t echo_write_gue(uint8_t to[ECHO_TUNNEL_MAX_SIZE], const struct netaddr *source, const struct netaddr *destination,
	const struct echo *echo)
{
	uint8_t protocol = destination->family == NETADDR_V4 ? GUE_INNER_IPV4 : GUE_INNER_IPV6;
	size_t header = encapsulate_write_gue(to, NULL, 0, protocol);

	return header + echo_write(to + header, source, destination, echo);
}

static bool read_icmp(struct span span, uint8_t type, struct echo *echo)
{
	const uint8_t *icmp = span_take(&span, ECHO_SIZE);

	if (!icmp || span_size(&span) != 0 || icmp[0] != type || icmp[1] != 0)
		return false;
	echo->identifier = load_be16(icmp + 4);
	echo->sequence = load_be16(icmp + 6);
	memcpy(echo->nonce, icmp + ICMP_SIZE, ECHO_NONCE_SIZE);
	return true;
}

bool echo_read_reply(const uint8_t *icmp, size_t size, enum netaddr_family family, struct echo *echo)
{
	return read_icmp(span_of(icmp, size), family == NETADDR_V4 ? ICMP_REPLY : ICMPV6_REPLY, echo);
}

bool echo_read_reply_ipv4(const uint8_t *packet, size_t size, struct echo *echo)
{
	struct span span = span_of(packet, size);
	const uint8_t *header = span_peek(&span, IPV4_SIZE);

	return header && span_take(&span, (size_t)(header[0] & 0x0f) * 4) && read_icmp(span, ICMP_REPLY, echo);
}

bool echo_read_request(const uint8_t *packet, size_t size, struct echo *echo)
{
	struct span span = span_of(packet, size);
	bool ipv6 = size > 0 && packet[0] >> 4 == 6;

	return span_take(&span, ipv6 ? IPV6_SIZE : IPV4_SIZE) &&
	       read_icmp(span, ipv6 ? ICMPV6_REQUEST : ICMP_REQUEST, echo);
}
