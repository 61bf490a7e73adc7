/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a frame to its flow: addresses and ports as the client sends them (docs/reference/steering.md#flow), whatever
 * carries them: TCP, UDP, the packet quoted by an ICMP error, a ping, a fragment. Pure, thread-safe.
 */
#ifndef GLB_PACKET_FLOW_H
#define GLB_PACKET_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/verdict.h"

enum flow_kind {
	FLOW_TRANSPORT, /* TCP or UDP, ports known */
	FLOW_ICMP_ERROR, /* the quoted TCP or UDP flow, ends exchanged */
	FLOW_ECHO, /* an echo request; ports are 0 */
	FLOW_FRAGMENT, /* a later fragment, or an error that quotes one; ports are 0 */
};

struct flow {
	uint8_t family; /* enum netaddr_family, of the packet and its flow */
	uint8_t kind; /* enum flow_kind */
	uint8_t protocol; /* of the flow: TCP or UDP for the first two kinds */
	bool answerable; /* an ICMP error may be sent about it (RFC 1122 3.2.2, RFC 4443 2.4) */
	uint16_t source_port, destination_port; /* host order */
	uint16_t hint; /* mixed into the outer source port; host order */
	uint32_t ip_offset; /* from the frame's first byte to the IP header */
	uint32_t ip_size; /* by the IP header: padding not counted */
	uint8_t source[16], destination[16]; /* network order; IPv4 uses 4, the rest is zero */
};

/*
 * Parses a frame from its Ethernet header on. `readable` bytes may be read, of `size` in the whole frame; headers beyond
 * `readable` are truncated. VERDICT_FORWARDED: *flow is whole. VERDICT_DROP_UNMATCHED: well-formed, but nothing that a bind can
 * match. Else a drop verdict that says why.
 */
enum verdict flow_parse(const uint8_t *frame, uint32_t readable, uint32_t size, struct flow *flow);

#endif
