/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow bifurcation for a director on AF_XDP: packets for the VIPs go to the director's sockets,
 * everything else (ARP, ND, SSH, BGP, ping to the host's own address) to the kernel. DPDK's
 * net_af_xdp loads it with xdp_prog=FILE and fills `xsks_map`.
 *
 * The VIPs are prefixes in the map pinned as /sys/fs/bpf/glb_vips, which may be made and filled
 * before the director starts, and changed while it runs. IPv4 addresses are IPv4-mapped IPv6
 * addresses there: 203.0.113.10/32 is ::ffff:203.0.113.10/128.
 *
 * With no director behind a queue, its packets go to the kernel, which has no such address.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MAX_QUEUES    64
#define MAX_VIPS      4096
#define MAX_VLAN_TAGS 2 /* as many as the director takes */

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, MAX_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct vip_prefix {
	__u32 bits; /* host byte order, 0..128 */
	struct in6_addr address;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, MAX_VIPS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, struct vip_prefix);
	__type(value, __u8);
} glb_vips SEC(".maps");

struct vlan_tag {
	__be16 id;
	__be16 ethertype;
};

static __always_inline int is_tag(__be16 ethertype)
{
	return ethertype == bpf_htons(ETH_P_8021Q) || ethertype == bpf_htons(ETH_P_8021AD);
}

/* The destination of the packet, or 0. */
static __always_inline int destination(struct xdp_md *context, struct in6_addr *address)
{
	void *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	struct ethhdr *ethernet = data;
	void *next = ethernet + 1;
	__be16 ethertype;

	if (next > end)
		return 0;
	ethertype = ethernet->h_proto;
#pragma unroll
	for (int i = 0; i < MAX_VLAN_TAGS; i++) {
		struct vlan_tag *tag = next;

		if (!is_tag(ethertype))
			break;
		next = tag + 1;
		if (next > end)
			return 0;
		ethertype = tag->ethertype;
	}
	if (ethertype == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = next;

		if ((void *)(ip + 1) > end)
			return 0;
		address->s6_addr32[0] = 0;
		address->s6_addr32[1] = 0;
		address->s6_addr32[2] = bpf_htonl(0xffff);
		address->s6_addr32[3] = ip->daddr;
		return 1;
	}
	if (ethertype == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = next;

		if ((void *)(ip + 1) > end)
			return 0;
		*address = ip->daddr;
		return 1;
	}
	return 0;
}

SEC("xdp")
int glb_bifurcate(struct xdp_md *context)
{
	struct vip_prefix prefix = {.bits = 128};

	if (!destination(context, &prefix.address))
		return XDP_PASS;
	if (!bpf_map_lookup_elem(&glb_vips, &prefix))
		return XDP_PASS;
	return bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
