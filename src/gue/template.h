/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outer headers made ready: all bytes that are the same for every packet with so many hops, and the
 * checksum so far. What is left to patch are lengths, checksum, addresses and the source port, at
 * the offsets below. Pure.
 */
#ifndef GLB_GUE_TEMPLATE_H
#define GLB_GUE_TEMPLATE_H

#include <stdint.h>
#include <string.h>

#include "common/byteorder.h"
#include "gue/encapsulate.h"
#include "gue/gue_wire.h"

#define TEMPLATE_MAX_HOPS 4
#define TEMPLATE_SIZE     64

enum template_offset {
	TEMPLATE_TOTAL_LENGTH = 16,
	TEMPLATE_CHECKSUM = 24,
	TEMPLATE_DESTINATION = 30,
	TEMPLATE_SOURCE_PORT = 34,
	TEMPLATE_UDP_LENGTH = 38,
	TEMPLATE_HOPS = 50, /* second and later */
};

struct template
{
	uint8_t bytes[TEMPLATE_SIZE];
	uint32_t sum; /* of the IPv4 header's 16-bit words as loaded little-endian, without length
			 and destination */
}
__attribute__((aligned(64)));

/* templates[TEMPLATE_INDEX(v6, hops)], hops 1..TEMPLATE_MAX_HOPS */
#define TEMPLATE_INDEX(v6, hops) ((v6)*TEMPLATE_MAX_HOPS + (hops)-1)
#define TEMPLATE_COUNT           (2 * TEMPLATE_MAX_HOPS)

/*
 * encapsulate_write() from a template. inner_size: bytes from the inner IP header on.
 * hops: 1..TEMPLATE_MAX_HOPS of them, for which the template is. source_port: host order.
 */
static inline void template_write(uint8_t *to, const struct template *template, const uint32_t *hops,
	unsigned hop_count, uint32_t inner_size, uint16_t source_port)
{
	uint32_t udp_length = inner_size + GUE_OUTER_SIZE(hop_count - 1u) - GUE_IPV4_SIZE;
	uint32_t length = __builtin_bswap16((uint16_t)(udp_length + GUE_IPV4_SIZE));
	uint32_t sum = template->sum + length + (hops[0] & 0xffff) + (hops[0] >> 16);
	uint16_t checksum;

	sum = (sum & 0xffff) + (sum >> 16);
	checksum = (uint16_t) ~(sum + (sum >> 16));
	memcpy(to, template->bytes, TEMPLATE_HOPS);
	memcpy(to + TEMPLATE_TOTAL_LENGTH, &length, 2);
	memcpy(to + TEMPLATE_CHECKSUM, &checksum, 2);
	memcpy(to + TEMPLATE_DESTINATION, hops, 4);
	store_be16(to + TEMPLATE_SOURCE_PORT, source_port);
	store_be16(to + TEMPLATE_UDP_LENGTH, (uint16_t)udp_length);
	for (unsigned i = 1; i < hop_count; i++)
		memcpy(to + TEMPLATE_HOPS + 4 * (i - 1), &hops[i], 4);
}

void template_fill(struct template templates[TEMPLATE_COUNT], const struct encapsulate_outer *outer);

#endif
