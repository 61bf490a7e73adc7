/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes any frame. The decoder must not read outside the frame, and the inner packet and the hops must be inside of
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include "gue/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct decode_packet packet;
	enum decode_status status = decode_frame(data, size, GUE_PORT, &packet);

	if (!decode_status_name(status))
		abort();
	if (status != DECODE_OK)
		return 0;
	if (packet.hop_count > GUE_MAX_LATER_HOPS || packet.next_hop > packet.hop_count)
		abort();
	if (packet.inner < data || packet.inner + packet.inner_size > data + size)
		abort();
	for (unsigned i = 0; i < packet.hop_count; i++)
		if (packet.hops[i].family != packet.source.family ||
			!memmem(data, size, packet.hops[i].bytes, netaddr_size(&packet.hops[i])))
			abort();
	return 0;
}
