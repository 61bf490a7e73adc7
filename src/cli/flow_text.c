/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/flow_text.h"

#include <netinet/in.h>

static const char *name_kind(const struct flow *flow)
{
	bool tcp = flow->protocol == IPPROTO_TCP;

	switch (flow->kind) {
	case FLOW_ECHO:
		return "icmp echo request";
	case FLOW_FRAGMENT:
		return "later fragment";
	case FLOW_ICMP_ERROR:
		return tcp ? "icmp error about tcp" : "icmp error about udp";
	default:
		return tcp ? "tcp" : "udp";
	}
}

static void format(uint8_t family, const uint8_t *address, bool has_port, uint16_t port, char *buf)
{
	struct endpoint endpoint = {
		.addr = netaddr_from_bytes(family, address),
		.has_port = has_port,
		.port = port,
	};

	endpoint_format(&endpoint, buf);
}

void flow_text_format(const struct flow *flow, struct flow_text *text)
{
	bool ports = flow->kind == FLOW_TRANSPORT || flow->kind == FLOW_ICMP_ERROR;

	text->what = name_kind(flow);
	format(flow->family, flow->source, ports, flow->source_port, text->source);
	format(flow->family, flow->destination, ports, flow->destination_port, text->destination);
}
