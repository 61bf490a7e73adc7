/* SPDX-License-Identifier: BSD-3-Clause */
/* Any frame, readable in part: the parser reads nothing beyond, and what it accepts lies inside the
 * frame. */
#include <stdlib.h>
#include <string.h>

#include "common/netaddr.h"
#include "packet/flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t whole, readable;
	struct flow flow;
	uint8_t *frame;

	if (size < 2)
		return 0;
	/* How much more than what is readable the frame has, and whether pings count. */
	readable = (uint32_t)size - 2;
	whole = readable + data[0];
	frame = malloc(readable); /* no byte more, so that ASan sees any */
	if (readable)
		memcpy(frame, data + 2, readable);
	if (flow_parse(frame, readable, whole, data[1] & 1, &flow) == VERDICT_FORWARDED) {
		if (flow.ip_offset + flow.ip_size > whole || flow.ip_size < 20)
			abort();
		if (flow.family != NETADDR_V4 && flow.family != NETADDR_V6)
			abort();
		if (flow.kind != FLOW_TRANSPORT && flow.kind != FLOW_ICMP_ERROR &&
			(flow.source_port || flow.destination_port))
			abort();
	}
	free(frame);
	return 0;
}
