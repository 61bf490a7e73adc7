/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exception path, which passes unmatched packets to the kernel and the kernel's packets to the network. For each
 * port that receives, DPDK's tap or virtio-user driver makes a network interface "glbN", where N is the port's id. The
 * interface has the port's MAC and MTU, and as many queues as the port has receive queues. The port receives all
 * multicast, which IPv6 needs.
 */
#pragma once

#include "director/ports/ports.h"

/*
 * Main thread only. Fills ports->exceptions and exception_count, if the configuration has an exception path. The ports
 * are set up, and there will be `lcores` workers. 0, or -errno after logging why and what to do.
 */
int exception_open(struct ports *ports, uint16_t lcores);

/*
 * Called by the thread of port_recovery for a port that was reset or attached, before it runs: it receives all
 * multicast again, and its glbN has the MTU that it has now.
 */
void exception_restore(struct ports *ports, struct port *port);

/* Gives an interface glbN the MTU of its port, if that has changed. Called by the control thread in each tick. */
void exception_follow(struct ports *ports);
