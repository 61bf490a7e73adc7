/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow bifurcation for a director that uses AF_XDP. Packets for the VIPs go to the director's sockets.
 * All others (ARP, ND, SSH, BGP, ping to the host's own address) go to the kernel. DPDK's net_af_xdp
 * driver loads this program with xdp_prog=FILE, and puts its sockets into `xsks_map`.
 *
 * The VIPs are prefixes in the map that is pinned as /sys/fs/bpf/glb_vips. glb-bifurcate creates and fills
 * it from a forwarding table, and the director keeps it in step with the table that it uses (vip_map.h).
 *
 * If no director serves a queue, the kernel gets the queue's packets and drops those for the VIPs,
 * which it does not have.
 */
#include <linux/bpf.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bifurcate/bifurcate.h"
#include "bpf/cursor.bpf.h"
#include "bpf/ethernet.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, BIFURCATE_MAX_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, BIFURCATE_MAX_VIPS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, struct bifurcate_prefix);
	__type(value, __u8);
} glb_vips SEC(".maps");

/* Reads the packet's destination address, IPv4 as IPv4-mapped. False: it is not an IP packet. */
static __always_inline bool read_destination(struct cursor *cursor, __be32 address[4])
{
	__u32 tags = 0;
	__be16 ethertype = ethernet_take(cursor, &tags);

	if (ethertype == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = cursor_take(cursor, sizeof(*ip));

		if (!ip)
			return false;
		address[0] = 0;
		address[1] = 0;
		address[2] = bpf_htonl(0xffff);
		address[3] = ip->daddr;
		return true;
	}
	if (ethertype == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = cursor_take(cursor, sizeof(*ip));

		if (!ip)
			return false;
		__builtin_memcpy(address, &ip->daddr, sizeof(ip->daddr));
		return true;
	}
	return false;
}

SEC("xdp")
int glb_bifurcate(struct xdp_md *context)
{
	struct cursor cursor = cursor_of(context);
	struct bifurcate_prefix prefix = {.bits = 128};

	if (!read_destination(&cursor, prefix.address))
		return XDP_PASS;
	if (!bpf_map_lookup_elem(&glb_vips, &prefix))
		return XDP_PASS;
	return bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
