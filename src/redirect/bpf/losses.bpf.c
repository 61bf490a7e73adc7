/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts the packets that the XDP program handed over for the next hop, and that the kernel or the driver then lost.
 * The program does not learn about it. The kernel reports it at tracepoints, which see all devices of the host, so
 * these programs compare the device on which the packet arrived.
 *
 * The programs read kernel structures, so they need the kernel's BTF. They run only when packets are sent, once for up
 * to 16 of them, or when a packet is lost.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "redirect/kernel/losses_wire.h"

/* The members of the kernel's structures that this file reads. The loader finds where they are. */
#define OF_THE_KERNEL __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} OF_THE_KERNEL;

struct net {
	struct ns_common ns;
} OF_THE_KERNEL;

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} OF_THE_KERNEL;

/* The loader sets this before it loads the programs. */
const volatile struct losses_of watched = {0};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSSES_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

static __always_inline void count(const struct net_device *device, __u32 kind, __s32 packets)
{
	__u64 *value;

	if (packets <= 0 || BPF_CORE_READ(device, ifindex) != (int)watched.ifindex ||
		BPF_CORE_READ(device, nd_net.net, ns.inum) != watched.network)
		return;
	value = bpf_map_lookup_elem(&losses, &kind);
	if (value)
		*value += packets;
}

/* Arguments: the device on which the packet arrived, program, target, error, ... */
SEC("raw_tp/xdp_redirect_err")
int redirect_err(struct bpf_raw_tracepoint_args *context)
{
	count((void *)context->args[0], LOSSES_KERNEL, 1);
	return 0;
}

/* Generic mode reports a full queue as an error of XDP_TX. Arguments: device, program, action. */
SEC("raw_tp/xdp_exception")
int exception(struct bpf_raw_tracepoint_args *context)
{
	if ((__u32)context->args[2] == XDP_TX)
		count((void *)context->args[0], LOSSES_KERNEL, 1);
	return 0;
}

/* Arguments: the device on which the packets arrived, the one that sends, packets sent, packets lost, error. */
SEC("raw_tp/xdp_devmap_xmit")
int devmap_xmit(struct bpf_raw_tracepoint_args *context)
{
	count((void *)context->args[0], LOSSES_DRIVER, (__s32)context->args[3]);
	return 0;
}

/* The kernel offers bpf_probe_read_kernel only to programs under the GPL. */
char _license[] SEC("license") = "Dual BSD/GPL";
