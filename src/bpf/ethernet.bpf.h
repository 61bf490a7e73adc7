/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Parses the Ethernet header and its VLAN tags. */
#pragma once

#include <linux/if_ether.h>
#include <linux/types.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/cursor.bpf.h"

#define ETHERNET_MAX_TAGS 2 /* as many as the director accepts */

struct vlan_tag {
	__be16 control;
	__be16 ethertype; /* type of the header that follows the tag */
};

static __always_inline bool ethernet_is_tag(__be16 ethertype)
{
	return ethertype == bpf_htons(ETH_P_8021Q) || ethertype == bpf_htons(ETH_P_8021AD);
}

/*
 * Moves the cursor from the start of the frame past the VLAN tags, and adds their number to *tags.
 * Returns the Ethernet type of the next header, or 0 if the frame is too short. After ETHERNET_MAX_TAGS
 * tags the cursor stops, even if another tag follows.
 */
static __always_inline __be16 ethernet_take(struct cursor *cursor, __u32 *tags)
{
	struct ethhdr *ethernet = cursor_take(cursor, sizeof(*ethernet));
	__be16 ethertype;

	if (!ethernet)
		return 0;
	ethertype = ethernet->h_proto;
#pragma unroll
	for (int i = 0; i < ETHERNET_MAX_TAGS; i++) {
		struct vlan_tag *tag;

		if (!ethernet_is_tag(ethertype))
			break;
		tag = cursor_take(cursor, sizeof(*tag));
		if (!tag)
			return 0;
		ethertype = tag->ethertype;
		++*tags;
	}
	return ethertype;
}
