/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the file descriptors of receive queues of the drivers af_packet, af_xdp and tap. DPDK has no function that
 * returns them, so they are searched for among the open file descriptors of the process. Main thread, then the thread
 * of port_recovery.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DESCRIPTORS_MAX 4096 /* higher file descriptors are not found */

struct descriptors {
	bool open[DESCRIPTORS_MAX]; /* by file descriptor */
};

/* Writes to *now which file descriptors are open. */
void descriptors_take(struct descriptors *now);

/* Returns the lowest file descriptor of an AF_XDP socket or tun device that is open now but is not in *before. -1:
 * none. */
int descriptors_new_queue(const struct descriptors *before);

/*
 * Returns the file descriptor of AF_PACKET socket n, counted from 0 in the order of creation, among those that are
 * bound to the interface with this index. -1: there are fewer.
 */
int descriptors_packet_socket(unsigned interface, uint16_t n);
