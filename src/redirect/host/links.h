/* SPDX-License-Identifier: BSD-3-Clause */
/* The interfaces of this network namespace and how they are stacked: bridges, bonds, VLANs, VRFs. Plain data; one
 * thread. */
#ifndef GLB_REDIRECT_LINKS_H
#define GLB_REDIRECT_LINKS_H

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

struct link {
	uint32_t index;
	uint32_t master; /* index of the bridge, bond or VRF to which it belongs; 0: none */
	/* Index of the interface on which it is based, such as that of a VLAN; 0: none in this namespace */
	uint32_t lower;
	uint32_t flags; /* IFF_* */
	uint32_t mtu; /* bytes */
	uint16_t type; /* ARPHRD_* */
	uint8_t mac[6]; /* zeros: none */
	char name[IF_NAMESIZE];
	char kind[16]; /* "vlan", "veth", "vrf"; "": a card */
};

struct links {
	struct link *items;
	size_t count;
};

/* Returns 0 or -errno. The caller calls links_free() in either case. */
int links_read(struct links *links);
void links_free(struct links *links);

/* NULL: there is none. */
const struct link *links_by_index(const struct links *links, uint32_t index);
const struct link *links_by_name(const struct links *links, const char *name);

/* Returns the VRF to which the link belongs, also if it is a member of a bridge or a bond in this VRF. NULL: none. */
const struct link *links_vrf(const struct links *links, const struct link *link);

/* Returns the interface that the IP layer sees for untagged frames: the bridge or bond to which the link belongs, or
 * itself. */
const struct link *links_of_ip(const struct links *links, const struct link *link);

#endif
