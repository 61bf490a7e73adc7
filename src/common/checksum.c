/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/checksum.h"

#include "common/byteorder.h"

uint32_t checksum_add(uint32_t sum, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (; size >= 2; at += 2, size -= 2)
		sum += load_be16(at);
	if (size)
		sum += (uint32_t)*at << 8;
	return sum;
}

uint16_t checksum_finish(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}
