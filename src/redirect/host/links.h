/* SPDX-License-Identifier: BSD-3-Clause */
/* The interfaces of this network namespace and how they are stacked: bridges, bonds, VLANs, VRFs. Plain data; one
 * thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "program/netlink/rtnetlink.h"

struct links {
	struct net_link *items;
	size_t count;
};

/* Returns 0 or -errno. The caller calls links_free() in either case. */
int links_read(struct links *links);
void links_free(struct links *links);

/* NULL: there is none. */
const struct net_link *links_by_index(const struct links *links, uint32_t index);
const struct net_link *links_by_name(const struct links *links, const char *name);

/* Returns the VRF to which the link belongs, also if it is a member of a bridge or a bond in this VRF. NULL: none. */
const struct net_link *links_vrf(const struct links *links, const struct net_link *link);

/* Returns the interface that the IP layer sees for untagged frames: the bridge or bond to which the link belongs, or
 * itself. */
const struct net_link *links_of_ip(const struct links *links, const struct net_link *link);
