/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether GUE arrives with VLAN tags that the device removes before the program sees the frame. In native mode the
 * program would then send a packet for the next hop, or a SYN cookie, without its tag. The kernel does not tell that
 * about a frame, so this goes by the interfaces and their IPv4 addresses, one of which is the destination of GUE.
 * Without IPv4 addresses, or with `ipv6`, it goes by the IPv6 addresses that are not link-local, too.
 *
 * No state, one thread.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "redirect/host/addresses.h"

enum vlan_stripping {
	VLAN_NOT_STRIPPED, /* the device leaves tags in the frames, or no VLAN interface on it has an address */
	/* The device and a VLAN interface on it have addresses, perhaps of different families, or the bridge or bond
	 * above one has */
	VLAN_MAYBE_STRIPPED,
	VLAN_STRIPPED, /* only a VLAN interface has addresses */
};

/*
 * addresses: of this host. ipv6: redirect.conf names senders with IPv6 addresses. Sets *vlan to the name of a VLAN
 * interface with an address, unless the result is VLAN_NOT_STRIPPED. Returns 0 or -errno.
 */
int vlan_find(const char *interface, const struct addresses *addresses, bool ipv6, enum vlan_stripping *stripping,
	char vlan[IFNAMSIZ]);
