/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses any frame, readable in part. The parser must not read beyond the readable bytes, and the IP packet that it
 * finds must be inside the frame.
 */
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

	if (size < 1)
		return 0;
	/* The first byte says how many bytes of the frame follow the readable ones. */
	readable = (uint32_t)size - 1;
	whole = readable + data[0];
	frame = malloc(readable); /* exactly this size, so that ASan detects reads beyond it */
	if (readable)
		memcpy(frame, data + 1, readable);
	if (flow_parse(frame, readable, whole, &flow) == VERDICT_FORWARDED) {
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
