/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The next hops of one port for one forwarding table: the destination MAC of a packet, by its first hop (a backend) and
 * its outer source port. The control thread creates a set and frees it. The set is read-only in between. A worker
 * refers to it for no longer than a burst (RCU). MACs are numbers with the first byte lowest. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Slots of a backend that several next hops lead to. The weights of the next hops are shares of these slots. */
#define NEXT_HOPS_WIDTH 256

/* One of the next hops that lead to a backend. */
struct next_hop {
	/*
	 * Identifies the next hop for as long as it exists, for example by interface and address. Its slots follow
	 * from the id, so that flows stay on their next hop when others come and go.
	 */
	uint64_t id;
	uint64_t mac; /* 0: not known or not reachable now, so the others take its flows */
	uint32_t weight; /* at least 1 */
};

/*
 * All next hops that lead to a backend, in any order, each with another id. A backend without a route has one next hop
 * with MAC 0. A count of 0 says that no row has this backend first (routes_mark_first_hops()), so it needs none.
 */
struct next_hop_list {
	const struct next_hop *next_hops;
	uint32_t count;
};

struct next_hops {
	bool single; /* all packets go to `mac`, and the members after it are not used */
	uint64_t mac; /* with `single`; 0: no packet has a next hop */
	uint32_t count; /* of `slots` */
	/*
	 * Same indices as routes->addresses. The low 24 bits are an index in `macs`, the high 8 bits a mask for the
	 * outer source port. The sum of the index and the masked port is the index of the packet's MAC. 0: no next hop.
	 */
	uint32_t *slots;
	uint64_t *macs; /* [0] is 0, and no other */
};

/* All backends have one next hop. mac: 0 if it is not known. NULL: out of memory. The caller frees it. */
struct next_hops *next_hops_create_single(uint64_t mac);

/*
 * lists[i] has the next hops of the backend with index i in routes->addresses, and count is routes->address_count. The
 * set keeps no pointer to the lists. NULL: out of memory, or more than 65535 different lists with several MACs. The
 * caller frees it with next_hops_free().
 */
struct next_hops *next_hops_create(const struct next_hop_list *lists, uint32_t count);
void next_hops_free(struct next_hops *next_hops);

/* Returns false if no packet has a next hop, as far as that is known without looking at the packets. */
static inline bool next_hops_any(const struct next_hops *next_hops)
{
	return !next_hops->single || next_hops->mac;
}

/* Returns the MAC for a packet, or 0. backend: the first hop. source_port: the outer one, host order. */
static inline uint64_t next_hops_find(const struct next_hops *next_hops, uint32_t backend, uint16_t source_port)
{
	uint32_t slot;

	if (next_hops->single)
		return next_hops->mac;
	slot = next_hops->slots[backend];
	return next_hops->macs[(slot & 0xffffff) + (slot >> 24 & source_port)];
}
