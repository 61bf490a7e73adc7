/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to the kernel's routes and neighbours (rtnetlink), one request and its answer at a
 * time. IPv4, network order. */
#ifndef GLB_DIRECTOR_CONTROL_NEIGHBOUR_H
#define GLB_DIRECTOR_CONTROL_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

struct neighbour_hop {
	uint32_t address; /* of the router, or the destination itself where it is on the link */
	uint32_t interface; /* its index */
};

/* The first hop on the way from source (0: any) to destination. 0, or -errno: no route, or one that
 * has no IPv4 neighbour. */
int neighbour_route(struct mnl_socket *socket, uint32_t source, uint32_t destination, struct neighbour_hop *hop);

/* 0, and its MAC in the low 48 bits of *mac, first byte lowest; or -errno: not known. */
int neighbour_find(struct mnl_socket *socket, const struct neighbour_hop *hop, uint64_t *mac);

/* Makes the kernel resolve or confirm it; the answer comes as an event. */
void neighbour_ask(struct mnl_socket *socket, const struct neighbour_hop *hop);

/* Does the message tell the end of a question about this neighbour? *mac: 0 where it is gone or
 * does not answer. */
bool neighbour_event(const struct nlmsghdr *message, const struct neighbour_hop *hop, uint64_t *mac);

#endif
