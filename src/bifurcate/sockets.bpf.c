/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells whether a map of AF_XDP sockets has any. User space cannot read a map of this type (EOPNOTSUPP), but a program
 * can (Linux 5.3). claim.c puts the map in question in the place of `xsks_map`, and runs the program once with
 * BPF_PROG_TEST_RUN.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bifurcate/bifurcate.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, BIFURCATE_MAX_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

/* Returns 1 if the map has a socket, else 0. The return value is not an XDP verdict, because no packet passes here. */
SEC("xdp")
int glb_has_sockets(struct xdp_md *context)
{
	(void)context;
	for (__u32 queue = 0; queue < BIFURCATE_MAX_QUEUES; queue++) {
		__u32 key = queue;

		if (bpf_map_lookup_elem(&xsks_map, &key))
			return 1;
	}
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
