/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pinned map of VIPs, which bifurcate.bpf.c reads for each packet. All functions that return int return 0 or
 * -errno, and put an error that says what to do into faults. One thread.
 */
#pragma once

#include <stdbool.h>

#include "bifurcate/vips.h"

#define VIP_MAP_PATH BIFURCATE_BPFFS "/" BIFURCATE_VIPS

/*
 * Opens the map. create: creates and pins it if it is missing. Otherwise a missing map is -ENOENT. Returns a
 * descriptor, which the caller closes.
 */
int vip_map_open(bool create, struct faults *faults);

/* Reads the VIPs. The caller frees them. */
int vip_map_read(int map, struct vips *vips, struct faults *faults);

struct vip_map_change {
	uint32_t added, removed, kept;
};

/*
 * Makes the map hold exactly these VIPs. It adds new ones before it removes old ones, unless the map has no room for
 * both. An operator and the director may call it at the same time: one of them waits for the other.
 */
int vip_map_set(int map, const struct vips *wanted, struct vip_map_change *change, struct faults *faults);

/* Warns about VIPs that cover an address of this host, because the kernel no longer receives packets for
 * that address. */
void vip_map_warn_own_addresses(const struct vips *vips, struct faults *faults);
