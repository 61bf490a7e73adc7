/* SPDX-License-Identifier: BSD-3-Clause */
#include "gue/encapsulate.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "gue/gue_wire.h"

_Static_assert(GUE_IPV4_SIZE == NET_IPV4_SIZE && GUE_IPV6_SIZE == NET_IPV6_SIZE && GUE_UDP_SIZE == NET_UDP_SIZE,
	"the sizes for BPF are those of common/net.h");

static void write_udp(uint8_t *to, uint16_t source_port, uint16_t length)
{
	store_be16(to, source_port);
	store_be16(to + 2, GUE_PORT);
	store_be16(to + 4, length);
	store_be16(to + 6, 0);
}

uint32_t encapsulate_write_gue(uint8_t *to, bool ipv6, unsigned later_count, uint8_t inner_protocol)
{
	struct gue_header header = {
		.version_control_hlen = (uint8_t)(1 + (ipv6 ? 4 : 1) * later_count),
		.inner_protocol = inner_protocol,
	};
	struct gue_private private_data = {.hop_count = (uint8_t)later_count};

	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), &private_data, sizeof(private_data));
	store_be16(to + sizeof(header), ipv6 ? GUE_PRIVATE_TYPE_IPV6 : GUE_PRIVATE_TYPE);
	return GUE_BASE_SIZE;
}

/* Writes the outer IP header. Returns its size. udp_length: of the UDP datagram in it. */
static uint32_t write_ip(uint8_t *to, const struct encapsulate_outer *outer, uint32_t hop,
	const struct net_ipv6_address *ipv6, uint16_t udp_length, uint16_t source_port)
{
	if (ipv6) {
		net_write_ipv6(to, &(struct net_ipv6){
					   .source = outer->source_ip6,
					   .destination = &ipv6[hop],
					   .flow_label = source_port,
					   .payload_length = udp_length,
					   .protocol = IPPROTO_UDP,
				   });
		return GUE_IPV6_SIZE;
	}
	net_write_ipv4(to, &(struct net_ipv4){
				   .source = &outer->source_ip,
				   .destination = &hop,
				   .total_length = (uint16_t)(GUE_IPV4_SIZE + udp_length),
				   .fragment = NET_DONT_FRAGMENT,
				   .protocol = IPPROTO_UDP,
			   });
	return GUE_IPV4_SIZE;
}

void encapsulate_write(uint8_t *to, const struct encapsulate_outer *outer, const uint32_t *hops, unsigned hop_count,
	const struct net_ipv6_address *ipv6, uint32_t inner_size, uint8_t inner_protocol, uint16_t source_port)
{
	uint32_t outer_size = encapsulate_outer_size(ipv6, hop_count) + inner_size;
	uint16_t udp_length = (uint16_t)(outer_size - (ipv6 ? GUE_IPV6_SIZE : GUE_IPV4_SIZE));

	net_write_ethernet(to, outer->destination_mac, outer->source_mac, ipv6 ? NET_TYPE_IPV6 : NET_TYPE_IPV4);
	to += NET_ETHERNET_SIZE;
	to += write_ip(to, outer, hops[0], ipv6, udp_length, source_port);
	write_udp(to, source_port, udp_length);
	to += GUE_UDP_SIZE;
	to += encapsulate_write_gue(to, ipv6, hop_count - 1, inner_protocol);
	for (unsigned i = 1; ipv6 && i < hop_count; i++, to += sizeof(*ipv6))
		memcpy(to, &ipv6[hops[i]], sizeof(*ipv6));
	if (!ipv6)
		memcpy(to, hops + 1, 4 * (hop_count - 1));
}
