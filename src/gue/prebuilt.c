/* SPDX-License-Identifier: BSD-3-Clause */
#include "gue/prebuilt.h"

#include <stdbool.h>
#include <string.h>

#include "common/byteorder.h"
#include "gue/gue_wire.h"

static void fill(struct prebuilt_headers *headers, const struct encapsulate_outer *outer, bool v6, unsigned hops)
{
	static const uint32_t no_hops[PREBUILT_MAX_HOPS];
	uint8_t whole[ENCAPSULATE_MAX_SIZE], *bytes = headers->bytes;

	memset(headers, 0, sizeof(*headers));
	encapsulate_write(whole, outer, no_hops, hops, 0, v6 ? GUE_INNER_IPV6 : GUE_INNER_IPV4, 0);
	memcpy(bytes, whole, PREBUILT_HOPS);
	memset(bytes + PREBUILT_TOTAL_LENGTH, 0, 2);
	memset(bytes + PREBUILT_CHECKSUM, 0, 2);
	memset(bytes + PREBUILT_UDP_LENGTH, 0, 2);
	for (unsigned i = 0; i < GUE_IPV4_SIZE; i += 2)
		headers->sum += load_le16(bytes + NET_ETHERNET_SIZE + i);
}

void prebuilt_fill(struct prebuilt_headers prebuilt[PREBUILT_COUNT], const struct encapsulate_outer *outer)
{
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned hops = 1; hops <= PREBUILT_MAX_HOPS; hops++)
			fill(&prebuilt[PREBUILT_INDEX(v6, hops)], outer, v6, hops);
}
