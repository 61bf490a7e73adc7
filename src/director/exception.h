/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of unmatched packets into the kernel, and of the kernel's answers out: for each port a
 * device "glbN" (N: the port's id) with its MAC, by DPDK's tap or virtio-user driver, with as many
 * queues as the port receives from. Main thread only.
 */
#ifndef GLB_DIRECTOR_EXCEPTION_H
#define GLB_DIRECTOR_EXCEPTION_H

#include "director/director.h"

/* Fills director->exceptions where the configuration wants them. 0, or -errno after logging why and
 * what to do. */
int exception_open(struct director *director);

#endif
