/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/flow_text.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>

#include "common/net.h"
#include "common/span.h"

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

void flow_text_frame(const uint8_t *frame, uint32_t readable, char text[FLOW_TEXT_FRAME_MAX])
{
	char source[NETADDR_TEXT_MAX], destination[NETADDR_TEXT_MAX];
	struct span at = span_of(frame, readable);
	struct netaddr from, to;
	const uint8_t *ip;
	uint16_t type;
	bool v4;

	if (!net_skip_ethernet(&at, &type)) {
		snprintf(text, FLOW_TEXT_FRAME_MAX, "frame of %" PRIu32 " bytes", readable);
		return;
	}
	v4 = type == NET_TYPE_IPV4;
	ip = v4 || type == NET_TYPE_IPV6 ? span_take(&at, v4 ? NET_IPV4_SIZE : NET_IPV6_SIZE) : NULL;
	if (!ip) {
		snprintf(text, FLOW_TEXT_FRAME_MAX, "EtherType 0x%04x", type);
		return;
	}
	from = netaddr_from_bytes(v4 ? NETADDR_V4 : NETADDR_V6, ip + (v4 ? 12 : 8));
	to = netaddr_from_bytes(v4 ? NETADDR_V4 : NETADDR_V6, ip + (v4 ? 16 : 24));
	snprintf(text, FLOW_TEXT_FRAME_MAX, "IP protocol %u %s > %s", ip[v4 ? 9 : 6], netaddr_format(&from, source),
		netaddr_format(&to, destination));
}
