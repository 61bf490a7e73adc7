/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/net.h"

#include <string.h>

uint32_t net_checksum_add(uint32_t sum, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (; size >= 2; at += 2, size -= 2)
		sum += load_be16(at);
	if (size)
		sum += (uint32_t)*at << 8;
	return sum;
}

uint16_t net_checksum_finish(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

void net_write_ethernet(uint8_t *to, const uint8_t destination[6], const uint8_t source[6], uint16_t type)
{
	memcpy(to, destination, 6);
	memcpy(to + 6, source, 6);
	store_be16(to + 12, type);
}

void net_write_ipv4(uint8_t *to, const struct net_ipv4 *header)
{
	to[0] = 0x45;
	to[1] = 0;
	store_be16(to + 2, header->total_length);
	store_be16(to + 4, header->identification);
	store_be16(to + 6, header->fragment);
	to[8] = NET_HOP_LIMIT;
	to[9] = header->protocol;
	store_be16(to + 10, 0);
	memcpy(to + 12, header->source, 4);
	memcpy(to + 16, header->destination, 4);
	store_be16(to + 10, net_checksum_finish(net_checksum_add(0, to, NET_IPV4_SIZE)));
}

void net_write_ipv6(uint8_t *to, const struct net_ipv6 *header)
{
	store_be32(to, 0x60000000 | header->flow_label);
	store_be16(to + 4, header->payload_length);
	to[6] = header->protocol;
	to[7] = NET_HOP_LIMIT;
	memcpy(to + 8, header->source, 16);
	memcpy(to + 24, header->destination, 16);
}

uint32_t net_pseudo_sum_ipv6(const uint8_t *ip)
{
	return net_checksum_add((uint32_t)load_be16(ip + 4) + ip[6], ip + 8, 32);
}
