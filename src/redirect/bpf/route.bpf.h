/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Looks up the kernel's route for a packet that the program sends by the interface on which another packet arrived: a
 * SYN-ACK, or a packet for its next hop. The helper bpf_fib_lookup came with Linux 4.18. It knows no bridge, bond or
 * VLAN: it returns the interface that the route names.
 */
#pragma once

#include "bpf/ethernet.bpf.h"

/* <sys/socket.h> is a header of the C library, which BPF programs do not have. */
#define AF_INET  2
#define AF_INET6 10

/* The bits of traffic class and flow label in the first word of an IPv6 header. */
#define ROUTE_FLOWINFO 0x0fffffff

/*
 * The program looks up routes as for the host's own packets. bpf_fib_lookup fails if forwarding is off
 * on the interface in the query, so the query names the loopback interface instead of the packet's.
 */
#define LOOPBACK_INDEX 1

static __always_inline bool is_same_address(const __u8 *one, const __u8 *other)
{
	__u8 differences = 0;

#pragma unroll
	for (int i = 0; i < ETH_ALEN; i++)
		differences |= one[i] ^ other[i];
	return differences == 0;
}

/*
 * Sets the MAC addresses of *ethernet for the route to the addresses in *query, whose `ifindex` this function sets.
 * Returns false if there is no route, if it leaves by another interface than that of the received frame, or if the
 * neighbour's MAC address is not known yet. The route for a tagged frame leaves by a VLAN interface, which the program
 * cannot compare with the frame's interface. It then compares the next hop's MAC address with the frame's source.
 */
static __always_inline bool route_find(
	struct xdp_md *context, struct bpf_fib_lookup *query, __u32 tags, struct ethhdr *ethernet)
{
	struct cursor cursor = cursor_of(context);
	struct ethhdr *received = cursor_peek(&cursor, sizeof(*received));

	if (!received)
		return false;
	query->ifindex = LOOPBACK_INDEX;
	if (bpf_fib_lookup(context, query, sizeof(*query), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return false;
	__builtin_memcpy(ethernet->h_dest, query->dmac, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, query->smac, ETH_ALEN);
	if (tags)
		return is_same_address(query->dmac, received->h_source);
	return query->ifindex == context->ingress_ifindex;
}
