/* SPDX-License-Identifier: BSD-3-Clause */
#include "gue/encapsulate.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "gue/gue_wire.h"

_Static_assert(
	GUE_IPV4_SIZE == NET_IPV4_SIZE && GUE_UDP_SIZE == NET_UDP_SIZE, "the sizes for BPF are those of common/net.h");

static void write_udp(uint8_t *to, uint16_t source_port, uint16_t length)
{
	store_be16(to, source_port);
	store_be16(to + 2, GUE_PORT);
	store_be16(to + 4, length);
	store_be16(to + 6, 0);
}

uint32_t encapsulate_write_gue(uint8_t *to, const uint32_t *later_hops, unsigned later_count, uint8_t inner_protocol)
{
	struct gue_header header = {
		.version_control_hlen = (uint8_t)(1 + later_count),
		.inner_protocol = inner_protocol,
	};
	struct gue_private private_data = {.hop_count = (uint8_t)later_count};

	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), &private_data, sizeof(private_data));
	if (later_count)
		memcpy(to + GUE_BASE_SIZE, later_hops, 4 * later_count);
	return GUE_BASE_SIZE + 4 * later_count;
}

void encapsulate_write(uint8_t *to, const struct encapsulate_outer *outer, const uint32_t *hops, unsigned hop_count,
	uint32_t inner_size, uint8_t inner_protocol, uint16_t source_port)
{
	unsigned later = hop_count - 1;
	uint32_t total_length = GUE_OUTER_SIZE(later) + inner_size;

	net_write_ethernet(to, outer->destination_mac, outer->source_mac, NET_TYPE_IPV4);
	to += NET_ETHERNET_SIZE;
	net_write_ipv4(to, &(struct net_ipv4){
				   .source = &outer->source_ip,
				   .destination = &hops[0],
				   .total_length = (uint16_t)total_length,
				   .fragment = NET_DONT_FRAGMENT,
				   .protocol = IPPROTO_UDP,
			   });
	to += GUE_IPV4_SIZE;
	write_udp(to, source_port, (uint16_t)(total_length - GUE_IPV4_SIZE));
	to += GUE_UDP_SIZE;
	encapsulate_write_gue(to, hops + 1, later, inner_protocol);
}
