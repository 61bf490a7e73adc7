/* SPDX-License-Identifier: BSD-3-Clause */
#include "gue/prebuilt.h"

#include <stdbool.h>
#include <string.h>

#include "common/byteorder.h"
#include "gue/gue_wire.h"

static void fill(
	struct prebuilt_headers *headers, const struct encapsulate_outer *outer, bool outer6, bool v6, unsigned hops)
{
	static const uint32_t no_hops[PREBUILT_MAX_HOPS];
	static const struct net_ipv6_address no_address;
	uint8_t whole[ENCAPSULATE_MAX_SIZE], *bytes = headers->bytes;

	encapsulate_write(
		whole, outer, no_hops, hops, outer6 ? &no_address : NULL, 0, v6 ? GUE_INNER_IPV6 : GUE_INNER_IPV4, 0);
	if (outer6) {
		memcpy(bytes, whole, PREBUILT_IPV6_HOPS);
		memset(bytes + PREBUILT_IPV6_LENGTH, 0, 2);
		memset(bytes + PREBUILT_IPV6_UDP_LENGTH, 0, 2);
		return;
	}
	memcpy(bytes, whole, PREBUILT_HOPS);
	memset(bytes + PREBUILT_TOTAL_LENGTH, 0, 2);
	memset(bytes + PREBUILT_CHECKSUM, 0, 2);
	memset(bytes + PREBUILT_UDP_LENGTH, 0, 2);
	for (unsigned i = 0; i < GUE_IPV4_SIZE; i += 2)
		headers->sum += load_le16(bytes + NET_ETHERNET_SIZE + i);
}

void prebuilt_fill(struct prebuilt_headers prebuilt[PREBUILT_COUNT], const struct encapsulate_outer *outer)
{
	memset(prebuilt, 0, PREBUILT_COUNT * sizeof(*prebuilt));
	for (unsigned outer6 = 0; outer6 < 2; outer6++)
		for (unsigned v6 = 0; v6 < 2; v6++)
			for (unsigned hops = 1; hops <= PREBUILT_MAX_HOPS; hops++)
				fill(&prebuilt[PREBUILT_INDEX(outer6, v6, hops)], outer, outer6, v6, hops);
}
