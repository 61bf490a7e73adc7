/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tc program on the ingress of an interface, which makes the kernel verify the checksums of inner packets
 * (docs/reference/redirect.md#checksums). Since Linux 6.6 it is attached by a tcx link, which is pinned beside the XDP
 * program's link. On older kernels it is a filter of the clsact qdisc, which stays without a pin.
 *
 * One thread. The caller holds loader_lock() to change something. `ifindex` is an interface of the loader's network
 * namespace. Functions that return int return 0 or -errno.
 */
#pragma once

#include <stdint.h>

/* A filter's place. Its handle tells it from the filters of others with the same priority. */
#define COMPANION_PRIORITY 1
#define COMPANION_HANDLE   0x474c42

enum companion_place {
	COMPANION_MISSING,
	COMPANION_TCX,
	COMPANION_CLSACT,
};

/* "missing", "tcx" or "clsact" */
const char *companion_name(enum companion_place place);

int companion_find(const char *interface, uint32_t ifindex, enum companion_place *place);

/* Attaches the program, or replaces the attached one atomically. The interface's folder of pins exists. */
int companion_put(const char *interface, uint32_t ifindex, int program);

/* Detaches the program, if it is attached. The clsact qdisc stays, because others may use it. */
void companion_remove(const char *interface, uint32_t ifindex);
