/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* A program of another tool: counts the packets that it gets, and passes them. SECTION is "xdp" or "xdp.frags". */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} packets SEC(".maps");

SEC(SECTION)
int count_all(struct xdp_md *context)
{
	__u32 key = 0;
	__u64 *value = bpf_map_lookup_elem(&packets, &key);

	(void)context;
	if (value)
		__sync_fetch_and_add(value, 1);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
