/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks up routes and neighbour entries in the kernel (rtnetlink), one request and its reply at a time. IPv4 addresses in network
 * order. Each function but the last uses the socket for a request, so no events may arrive on it. The socket belongs to one thread.
 */
#ifndef GLB_DIRECTOR_CONTROL_NEIGHBOUR_H
#define GLB_DIRECTOR_CONTROL_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

struct next_hop {
	uint32_t address; /* of the next hop; the destination itself if it is on the link */
	uint32_t interface; /* index */
};

/*
 * Finds the next hop from source (0: any) to destination. 0, or -errno: there is no route, or its next hop is no IPv4
 * neighbour.
 */
int neighbour_route(struct mnl_socket *socket, uint32_t source, uint32_t destination, struct next_hop *hop);

/* Reads the MAC of the next hop into the low 48 bits of *mac, its first byte lowest. 0, or -errno: the kernel does not know it. */
int neighbour_find(struct mnl_socket *socket, const struct next_hop *hop, uint64_t *mac);

/* Makes the kernel resolve or confirm the MAC of the next hop. The result arrives as an event. */
void neighbour_probe(struct mnl_socket *socket, const struct next_hop *hop);

/*
 * Returns whether the message of rtnetlink has a result for this next hop: *mac is its MAC, or 0 if the neighbour entry is gone or
 * the next hop does not reply.
 */
bool neighbour_event(const struct nlmsghdr *message, const struct next_hop *hop, uint64_t *mac);

#endif
