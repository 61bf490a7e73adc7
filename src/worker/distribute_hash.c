/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/distribute_hash.h"

#include <stdbool.h>

#include "common/net.h"

/* Folds the 128-bit product. The constants, digits of pi, keep a zero on one side from cancelling the other side. */
static uint64_t distribute_hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ 0x243f6a8885a308d3) * (b ^ 0x13198a2e03707345);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Returns both ports as one number, or 0 if the packet has none at `offset`. */
static uint32_t distribute_hash_ports(const uint8_t *frame, uint32_t readable, uint32_t offset, uint8_t protocol)
{
	bool has_ports = protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;

	return has_ports && readable >= offset + 4 ? load_le32(frame + offset) : 0;
}

static uint64_t hash_ipv4(const uint8_t *frame, uint32_t readable, uint32_t offset, uint64_t seed)
{
	const uint8_t *ip = frame + offset;
	uint32_t header_size = 4u * (ip[0] & 0xf);
	bool fragment = load_be16(ip + 6) & NET_IS_FRAGMENT;

	return distribute_hash_mix(load_le64(ip + 12),
		seed ^ (fragment ? 0 : distribute_hash_ports(frame, readable, offset + header_size, ip[9])));
}

static uint64_t hash_ipv6(const uint8_t *frame, uint32_t readable, uint32_t offset, uint64_t seed)
{
	const uint8_t *ip = frame + offset;
	uint64_t addresses = distribute_hash_mix(load_le64(ip + 8), load_le64(ip + 16) ^ seed) ^
			     distribute_hash_mix(load_le64(ip + 24) ^ seed, load_le64(ip + 32));

	return distribute_hash_mix(
		addresses, seed ^ distribute_hash_ports(frame, readable, offset + NET_IPV6_SIZE, ip[6]));
}

uint32_t distribute_hash(const uint8_t *frame, uint32_t readable, uint64_t seed)
{
	uint32_t offset = NET_ETHERNET_SIZE;
	uint16_t type = readable >= offset ? load_be16(frame + 12) : 0;
	uint64_t hash = 0;

	for (int tags = 0; tags < NET_MAX_TAGS && net_is_tag(type); tags++) {
		offset += NET_TAG_SIZE;
		type = readable >= offset ? load_be16(frame + offset - 2) : 0;
	}
	if (type == NET_TYPE_IPV4 && readable >= offset + NET_IPV4_SIZE)
		hash = hash_ipv4(frame, readable, offset, seed);
	else if (type == NET_TYPE_IPV6 && readable >= offset + NET_IPV6_SIZE)
		hash = hash_ipv6(frame, readable, offset, seed);
	return (uint32_t)(hash ^ hash >> 32);
}
