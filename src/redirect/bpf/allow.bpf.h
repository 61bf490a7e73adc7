/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Decides whether a GUE packet is for this host, and whether redirect.conf allows its sender, its inner destination and
 * its next hop. All addresses are in one map, `lists`, which the loader fills (enum redirect_list).
 *
 * A look-up in `lists` takes 20 to 60 ns. So each CPU remembers in `recent` which addresses it found. It remembers no
 * address that is not in a list, so strangers cannot displace what it remembers.
 */
#pragma once

#include <linux/ip.h>
#include <linux/ipv6.h>

#include "bpf/cursor.bpf.h"
#include "bpf/ethernet.bpf.h"
#include "redirect/bpf/address.bpf.h"
#include "redirect/bpf/decide.bpf.h"
#include "redirect/redirect.h"

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, REDIRECT_MAX_PREFIXES);
	__type(key, struct redirect_prefix);
	__type(value, __u32);
} lists SEC(".maps");

/* The loader adds 1 after it has removed something from `lists`: what CPUs remember from before is not valid
 * any more. */
__u32 generation;

#define ALLOW_ECHO_REQUEST 128 /* the type in ICMPv6; <linux/icmpv6.h> includes headers of the C library */

enum {
	ALLOW_OK = -1,
	/* Values >= 0 are the enum redirect_counter of a packet that is not allowed. */
};

#define RECENT_BITS 9
#define RECENT_PATH 0xff /* not an enum redirect_list: MAC, source and destination of an outer header */

struct recent {
	__u32 generation, list;
	union {
		__u32 words[4]; /* an address as in struct redirect_prefix, or a path */
		__u64 halves[2];
	};
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << RECENT_BITS);
	__type(key, __u32);
	__type(value, struct recent);
} recent SEC(".maps");

/* Returns the entry of `recent` for *wanted. NULL is impossible. */
static __always_inline struct recent *recent_entry(const struct recent *wanted)
{
	__u32 mixed =
		wanted->list + wanted->words[0] * 3 + wanted->words[1] * 5 + wanted->words[2] * 7 + wanted->words[3];
	/* Multiplicative hashing: the constant is 2^32 divided by the golden ratio. */
	__u32 index = mixed * 0x9e3779b1 >> (32 - RECENT_BITS);

	return bpf_map_lookup_elem(&recent, &index);
}

static __always_inline bool recent_equal(const struct recent *one, const struct recent *other)
{
	return one->halves[0] == other->halves[0] && one->halves[1] == other->halves[1] &&
	       one->generation == other->generation && one->list == other->list;
}

static __always_inline bool list_has(__u32 list, const __u32 words[4])
{
	struct redirect_prefix key = {.length = REDIRECT_PREFIX_BITS(128), .list = list};

	__builtin_memcpy(key.address, words, sizeof(key.address));
	return bpf_map_lookup_elem(&lists, &key);
}

static __always_inline bool list_has_address(__u32 list, const void *address, bool ipv6)
{
	__u32 words[4] = {0};

	__builtin_memcpy(words, address, ADDRESS_SIZE(ipv6));
	return list_has(ipv6 ? list : list | REDIRECT_IPV4, words);
}

/* Like list_has(), and remembers what it found. */
static __always_inline bool list_has_often(__u32 list, const __u32 words[4])
{
	struct recent wanted = {.generation = generation, .list = list};
	struct recent *entry;

	__builtin_memcpy(wanted.words, words, sizeof(wanted.words));
	entry = recent_entry(&wanted);
	if (!entry)
		return false;
	if (recent_equal(entry, &wanted))
		return true;
	if (!list_has(list, words))
		return false;
	*entry = wanted;
	return true;
}

/* An IPv4 path fits one entry of `recent`. */
static __always_inline int allow_ipv4_path(const __u32 mac[4], const __be32 *addresses)
{
	struct recent wanted = {.generation = generation, .list = RECENT_PATH};
	struct recent *entry;

	wanted.words[0] = mac[0];
	wanted.words[1] = mac[1];
	wanted.words[2] = addresses[0];
	wanted.words[3] = addresses[1];
	entry = recent_entry(&wanted);
	if (!entry)
		return REDIRECT_NOT_FOR_US;
	if (recent_equal(entry, &wanted))
		return ALLOW_OK;
	if (!list_has(REDIRECT_LIST_MAC, mac) || !list_has_address(REDIRECT_LIST_LOCAL, &addresses[1], false))
		return REDIRECT_NOT_FOR_US;
	if (!list_has_address(REDIRECT_LIST_FROM, &addresses[0], false))
		return REDIRECT_DROP_SOURCE;
	*entry = wanted;
	return ALLOW_OK;
}

static __always_inline int allow_ipv6_path(const __u32 mac[4], const __be32 *addresses)
{
	__u32 source[4], destination[4];

	__builtin_memcpy(source, addresses, sizeof(source));
	__builtin_memcpy(destination, addresses + 4, sizeof(destination));
	if (!list_has_often(REDIRECT_LIST_MAC, mac) || !list_has_often(REDIRECT_LIST_LOCAL, destination))
		return REDIRECT_NOT_FOR_US;
	return list_has_often(REDIRECT_LIST_FROM, source) ? ALLOW_OK : REDIRECT_DROP_SOURCE;
}

/*
 * Checks the outer addresses of a GUE packet: the source, behind which the destination is. Returns ALLOW_OK, or
 * REDIRECT_NOT_FOR_US if its MAC address or its outer destination is not of this host, or REDIRECT_DROP_SOURCE.
 */
static __always_inline int allow_path(const struct cursor *cursor, const void *addresses, bool ipv6)
{
	struct cursor start = {.frame = cursor->frame, .frame_end = cursor->frame_end, .end = cursor->end};
	struct ethhdr *ethernet = cursor_peek(&start, sizeof(*ethernet));
	__u32 mac[4] = {0};

	if (!ethernet) /* impossible, because it was parsed; the verifier needs it */
		return REDIRECT_NOT_FOR_US;
	__builtin_memcpy(mac, ethernet->h_dest, ETH_ALEN);
	return ipv6 ? allow_ipv6_path(mac, addresses) : allow_ipv4_path(mac, addresses);
}

/*
 * Returns whether the inner packet asks this host if the tunnel works: ICMP, in IPv6 an echo request, to the outer
 * destination, which is at offset `outer_at` of the frame. 0: the outer header is of the other family. Other ICMPv6 is
 * not for a tunnel: neighbour discovery would let the sender change addresses and routes of this host.
 */
static __always_inline bool allow_tunnel_check(
	const struct cursor *inner, __u32 outer_at, __u8 protocol, const void *destination, bool ipv6)
{
	struct cursor outer = *inner, icmp = *inner;
	void *address;
	__u8 *type;

	if (protocol != (ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP) || !outer_at)
		return false;
	outer.at = outer_at;
	address = cursor_peek(&outer, ADDRESS_SIZE(ipv6));
	icmp.at += sizeof(struct ipv6hdr);
	type = ipv6 ? cursor_peek(&icmp, sizeof(*type)) : NULL;
	if (ipv6 && (!type || *type != ALLOW_ECHO_REQUEST))
		return false;
	return address && address_equal(address, destination, ipv6);
}

/*
 * Returns whether this host may keep the inner packet that begins at `inner`, and whose IP header is valid.
 * glb-healthcheck checks the tunnel to the address of the proxy, which allow_to need not have.
 */
static __always_inline bool allow_destination(const struct cursor *inner, bool ipv6, __u32 outer_at)
{
	__u32 list = settings.allow_to_local ? REDIRECT_LIST_LOCAL : REDIRECT_LIST_TO;
	__u32 words[4] = {0};

	if (ipv6) {
		struct ipv6hdr *ip = cursor_peek(inner, sizeof(*ip));

		if (!ip)
			return false;
		if (allow_tunnel_check(inner, outer_at, ip->nexthdr, &ip->daddr, true))
			return true;
		__builtin_memcpy(words, &ip->daddr, sizeof(words));
	} else {
		struct iphdr *ip = cursor_peek(inner, sizeof(*ip));

		if (!ip)
			return false;
		if (allow_tunnel_check(inner, outer_at, ip->protocol, &ip->daddr, false))
			return true;
		words[0] = ip->daddr;
		list |= REDIRECT_IPV4;
	}
	return list_has_often(list, words);
}
