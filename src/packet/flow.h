/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses a frame and finds its flow: the addresses and ports of the packets that the client sends. The frame may carry
 * TCP, UDP, a ping, a fragment, or an ICMP error that quotes one of these (docs/reference/steering.md#flow). Pure,
 * thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/verdict.h"

enum flow_kind {
	FLOW_TRANSPORT, /* TCP or UDP with ports */
	FLOW_ICMP_ERROR, /* the TCP or UDP flow that an ICMP error quotes, source and destination exchanged */
	FLOW_ECHO, /* an ICMP echo request; both ports are 0 */
	FLOW_FRAGMENT, /* a later fragment, or an ICMP error that quotes one; both ports are 0 */
};

struct flow {
	uint8_t family; /* enum netaddr_family, of the packet and of the flow */
	uint8_t kind; /* enum flow_kind */
	uint8_t protocol; /* IP protocol of the flow; TCP or UDP for FLOW_TRANSPORT and FLOW_ICMP_ERROR */
	bool martian; /* no client can have the packet's source (packet/admission.h) */
	bool reply_allowed; /* the director may send a too-big reply (RFC 1122 section 3.2.2, RFC 4443 section 2.4) */
	uint16_t source_port, destination_port; /* host order */
	uint16_t hint; /* mixed into the outer UDP source port; host order */
	uint32_t ip_offset; /* bytes from the start of the frame to the IP header */
	uint32_t ip_size; /* bytes of the IP packet by its header, without padding */
	uint8_t source[16], destination[16]; /* network order; IPv4 uses the first 4 bytes, the others are 0 */
	/* The UDP data, received or quoted, as far as it may be read: a part of the frame. NULL for other protocols and
	 * for fragments. */
	uint32_t payload_size;
	const uint8_t *payload;
};

/*
 * Parses a frame that starts with its Ethernet header. size: bytes of the whole frame; of these, `readable` may be
 * read. A header that lies beyond `readable` counts as truncated. Returns one of these:
 *   VERDICT_FORWARDED: all members of *flow are set.
 *   VERDICT_DROP_UNMATCHED: the frame is well-formed, but no bind can match it.
 *   another drop verdict: what is wrong with the frame.
 * Unless it returns VERDICT_FORWARDED, *flow may be incomplete, but flow->martian is set.
 */
enum verdict flow_parse(const uint8_t *frame, uint32_t readable, uint32_t size, struct flow *flow);

/* The same for an IP packet of this family (enum netaddr_family). flow->ip_offset: 0. */
enum verdict flow_parse_ip(uint8_t family, const uint8_t *ip, uint32_t readable, uint32_t size, struct flow *flow);

/* Returns whether no client can have the source. Addresses: 4 or 16 bytes by family, network order. */
bool flow_is_martian(uint8_t family, const uint8_t *source, const uint8_t *destination);
