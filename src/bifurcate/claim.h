/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims an interface for the AF_XDP sockets of this process, before DPDK's driver sees it. The driver refuses an
 * interface with an XDP program, and removes that program when it closes its port, whoever attached it. So a director
 * that starts on the interface of another one would end the other's traffic. One thread.
 */
#pragma once

#include <stdbool.h>

#include "common/faults.h"

/*
 * Removes a stale program, which a director that was killed or crashed has left, so that it serves no socket: one of
 * ours (BIFURCATE_PROGRAM), or the one in the file `object`. object: the file whose program DPDK will attach; NULL:
 * libxdp's, which shares an interface that libxdp prepared. Returns 0; 1 if it removed a stale program; or -errno with
 * an error in faults, if another tool or another director uses the interface. An interface that does not exist is no
 * error, because DPDK reports it. The claim ends with the process.
 */
int claim_interface(const char *interface, const char *object, struct faults *faults);

/* Returns whether our program is attached to the interface. False if the kernel does not say. */
bool claim_has_our_program(unsigned int ifindex);
