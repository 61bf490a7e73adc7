/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * For tc egress of one end of a veth pair: the other end then receives frames as from a card that found their outer UDP
 * checksum right.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int card(struct __sk_buff *packet)
{
	bpf_csum_level(packet, BPF_CSUM_LEVEL_INC);
	return TC_ACT_OK;
}

char _license[] SEC("license") = "Dual BSD/GPL";
