/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exception path, which passes unmatched packets to the kernel and the kernel's packets to the network. For each port that
 * receives, DPDK's tap or virtio-user driver makes a network interface "glbN", where N is the port's id. The interface has the
 * port's MAC and as many queues as the port has receive queues. Main thread only.
 */
#ifndef GLB_DIRECTOR_EXCEPTION_H
#define GLB_DIRECTOR_EXCEPTION_H

#include "director/director.h"

/*
 * Fills director->exceptions and exception_count, if the configuration has an exception path. The ports are set up. 0, or -errno
 * after logging why and what to do.
 */
int exception_open(struct director *director);

#endif
