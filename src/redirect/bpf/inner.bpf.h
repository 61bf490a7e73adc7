/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Parses the IP headers, including IPv6 extension headers, of an inner packet, or of the packet that
 * an inner ICMP error quotes.
 */
#pragma once

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>

#include "bpf/cursor.bpf.h"
#include "redirect/redirect.h"

#define INNER_MAX_EXTENSION_HEADERS 8
/* The bits of the fragment offset in their header fields. */
#define INNER_IPV4_OFFSET   0x1fff
#define INNER_IPV4_FRAGMENT 0x3fff /* the fragment offset, and the bit that tells of more fragments */
#define INNER_IPV6_OFFSET   0xfff8

enum {
	INNER_OK = -1,
	/* Values >= 0 are the enum redirect_counter with which the packet is dropped. */
};

struct inner {
	void *ip; /* struct iphdr or struct ipv6hdr in the packet */
	bool later_fragment; /* not the first fragment, so it has no ports */
	bool is_fragment; /* any; in IPv6 each packet with a fragment header */
	/* The transport checksum covers more than this packet: it is a fragment, or has an IPv6 routing header. */
	bool is_partial;
	__u8 protocol; /* of the transport header, after IPv6 extension headers */
	struct bpf_sock_tuple flow; /* as this host receives it; inner_set_ports() sets the ports */
};

/*
 * quoted: an ICMP error quotes this packet. This host sent it, so source and destination are swapped
 * in `flow`. Its length field is ignored, because the quote can be shorter.
 */
static __always_inline int inner_ipv4(struct cursor *cursor, struct inner *inner, bool quoted)
{
	struct iphdr *ip = cursor_peek(cursor, sizeof(*ip));
	__u32 header, total;

	if (!ip)
		return REDIRECT_DROP_INNER_TRUNCATED;
	header = 4 * ip->ihl;
	total = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || header < sizeof(*ip) || total < header)
		return REDIRECT_DROP_INNER_MALFORMED;
	if (!quoted && !cursor_cut(cursor, total))
		return REDIRECT_DROP_INNER_TRUNCATED;
	if (!cursor_skip(cursor, header))
		return REDIRECT_DROP_INNER_TRUNCATED;
	inner->ip = ip;
	inner->protocol = ip->protocol;
	inner->later_fragment = ip->frag_off & bpf_htons(INNER_IPV4_OFFSET);
	inner->is_fragment = ip->frag_off & bpf_htons(INNER_IPV4_FRAGMENT);
	inner->is_partial = inner->is_fragment;
	inner->flow.ipv4.saddr = quoted ? ip->daddr : ip->saddr;
	inner->flow.ipv4.daddr = quoted ? ip->saddr : ip->daddr;
	return INNER_OK;
}

#define EXTENSION_HEADERS \
	(1ull << IPPROTO_HOPOPTS | 1ull << IPPROTO_ROUTING | 1ull << IPPROTO_FRAGMENT | 1ull << IPPROTO_DSTOPTS)
#define PARTIAL_HEADERS (1ull << IPPROTO_ROUTING | 1ull << IPPROTO_FRAGMENT)

struct extension_header {
	__u8 next;
	__u8 length; /* in units of 8 bytes, without the first; reserved in a fragment header */
	__be16 offset; /* in a fragment header: fragment offset and flags */
	__be32 rest;
};

/* Does not branch on the kind of header, because the verifier would follow every branch for each of 8 headers. */
static __always_inline int inner_extension_headers(struct cursor *cursor, struct inner *inner)
{
	for (int i = 0; i <= INNER_MAX_EXTENSION_HEADERS; i++) {
		struct extension_header *extension;
		__u32 protocol = inner->protocol, is_fragment;

		if (protocol >= 64 || !(EXTENSION_HEADERS >> protocol & 1))
			return INNER_OK;
		if (i == INNER_MAX_EXTENSION_HEADERS)
			return REDIRECT_DROP_INNER_EXTENSION_HEADERS;
		extension = cursor_take(cursor, sizeof(*extension));
		if (!extension)
			return REDIRECT_DROP_INNER_TRUNCATED;
		is_fragment = ((protocol ^ IPPROTO_FRAGMENT) - 1) >> 31;
		if (!cursor_skip(cursor, 8 * extension->length * (1 - is_fragment)))
			return REDIRECT_DROP_INNER_TRUNCATED;
		inner->is_fragment |= is_fragment;
		inner->is_partial |= PARTIAL_HEADERS >> protocol & 1;
		inner->protocol = extension->next;
		if (is_fragment * (extension->offset & bpf_htons(INNER_IPV6_OFFSET))) {
			inner->later_fragment = true;
			return INNER_OK;
		}
	}
	return INNER_OK;
}

static __always_inline int inner_ipv6(struct cursor *cursor, struct inner *inner, bool quoted)
{
	struct ipv6hdr *ip = cursor_peek(cursor, sizeof(*ip));

	if (!ip)
		return REDIRECT_DROP_INNER_TRUNCATED;
	if (ip->version != 6)
		return REDIRECT_DROP_INNER_MALFORMED;
	if (!quoted && !cursor_cut(cursor, sizeof(*ip) + bpf_ntohs(ip->payload_len)))
		return REDIRECT_DROP_INNER_TRUNCATED;
	cursor->at += sizeof(*ip);
	inner->ip = ip;
	inner->protocol = ip->nexthdr;
	__builtin_memcpy(inner->flow.ipv6.saddr, quoted ? &ip->daddr : &ip->saddr, 16);
	__builtin_memcpy(inner->flow.ipv6.daddr, quoted ? &ip->saddr : &ip->daddr, 16);
	return inner_extension_headers(cursor, inner);
}

/*
 * Moves the cursor from the IP header to the transport header. Returns INNER_OK or a counter. All
 * callers pass constants for `ipv6` and `quoted`: the verifier does not track a bool on the stack as
 * a constant.
 */
static __always_inline int inner_parse(struct cursor *cursor, struct inner *inner, bool ipv6, bool quoted)
{
	return ipv6 ? inner_ipv6(cursor, inner, quoted) : inner_ipv4(cursor, inner, quoted);
}

/* ports: source and destination port, the first 4 bytes of TCP and of UDP. A quoted packet has them swapped. */
static __always_inline void inner_set_ports(struct inner *inner, bool ipv6, const __be16 *ports, bool quoted)
{
	__be16 source = ports[quoted ? 1 : 0], destination = ports[quoted ? 0 : 1];

	if (ipv6) {
		inner->flow.ipv6.sport = source;
		inner->flow.ipv6.dport = destination;
	} else {
		inner->flow.ipv4.sport = source;
		inner->flow.ipv4.dport = destination;
	}
}
