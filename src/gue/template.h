/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outer headers made ready: all bytes that are the same for every packet with so many hops, and the
 * checksum so far. What is left to patch are lengths, checksum, addresses and the source port, at
 * the offsets below. Pure.
 */
#ifndef GLB_GUE_TEMPLATE_H
#define GLB_GUE_TEMPLATE_H

#include <stdint.h>

#include "gue/encapsulate.h"

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

void template_fill(
	struct template templates[TEMPLATE_COUNT], const struct encapsulate_outer *outer);

#endif
