/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file descriptors behind the queues of ports on top of the kernel (af_packet, af_xdp, tap),
 * found where DPDK has no interface for it: among what the process has open. Main thread only.
 */
#ifndef GLB_DIRECTOR_DESCRIPTORS_H
#define GLB_DIRECTOR_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

#define DESCRIPTORS_MAX 4096 /* higher ones are not found */

/* What is open. */
struct descriptors {
	bool open[DESCRIPTORS_MAX];
};

void descriptors_take(struct descriptors *now);

/* The first AF_XDP socket or tun device that is open now and was not before; -1: none. */
int descriptors_new_queue(const struct descriptors *before);

/* The n-th AF_PACKET socket, in order of creation, that is bound to the interface; -1: there are
 * fewer. */
int descriptors_packet_socket(unsigned interface, uint16_t n);

#endif
