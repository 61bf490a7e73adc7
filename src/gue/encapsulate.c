/* SPDX-License-Identifier: BSD-3-Clause */
#include "gue/encapsulate.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/checksum.h"
#include "gue/gue_wire.h"

_Static_assert(ENCAPSULATE_MAX_SIZE == ENCAPSULATE_ETHERNET_SIZE + GUE_OUTER_SIZE(ENCAPSULATE_MAX_HOPS - 1),
	"sizes agree with the wire format");

static void write_ethernet(uint8_t *to, const struct encapsulate_outer *outer)
{
	memcpy(to, outer->destination_mac, 6);
	memcpy(to + 6, outer->source_mac, 6);
	store_be16(to + 12, 0x0800);
}

static void write_ipv4(uint8_t *to, uint32_t source, uint32_t destination, uint16_t total_length)
{
	memset(to, 0, GUE_IPV4_SIZE);
	to[0] = 0x45;
	store_be16(to + 2, total_length);
	store_be16(to + 6, 0x4000); /* DF */
	to[8] = 64;
	to[9] = 17;
	memcpy(to + 12, &source, 4);
	memcpy(to + 16, &destination, 4);
	store_be16(to + 10, checksum_finish(checksum_add(0, to, GUE_IPV4_SIZE)));
}

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

	write_ethernet(to, outer);
	to += ENCAPSULATE_ETHERNET_SIZE;
	write_ipv4(to, outer->source_ip, hops[0], (uint16_t)total_length);
	to += GUE_IPV4_SIZE;
	write_udp(to, source_port, (uint16_t)(total_length - GUE_IPV4_SIZE));
	to += GUE_UDP_SIZE;
	encapsulate_write_gue(to, hops + 1, later, inner_protocol);
}
