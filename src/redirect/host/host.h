/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of this host in the kernel, as of one moment: the local addresses of the network namespace, and the MAC
 * addresses whose frames an interface receives for this host. Plain data that the caller frees. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"

struct host_mac {
	uint8_t bytes[6];
};

struct host {
	/* Prefixes with a route of type local, in any table. Without 127.0.0.0/8 and ::1, which nobody else may send
	 * to, and without routes for all addresses, by which TPROXY keeps the packets that a rule selects. */
	struct netprefix *local;
	size_t local_count;
	/*
	 * The MAC addresses of the interface, of the bridge or bond that it belongs to, of their other members, and of
	 * VLAN and macvlan interfaces on top of any of these.
	 */
	struct host_mac *macs;
	size_t mac_count;
};

/* Returns 0, or -errno with nothing to free. */
int host_read(uint32_t ifindex, struct host *host);
void host_free(struct host *host);
