/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names and sizes that the XDP program for AF_XDP shares with the director and glb-bifurcate. Includes no header of the
 * C library, which BPF programs do not have.
 */
#pragma once

#include <linux/types.h>

#define BIFURCATE_PROGRAM    "glb_bifurcate"
#define BIFURCATE_BPFFS      "/sys/fs/bpf"
#define BIFURCATE_VIPS       "glb_vips" /* the map's name, and that of its pin in BIFURCATE_BPFFS */
#define BIFURCATE_MAX_VIPS   4096
#define BIFURCATE_MAX_QUEUES 64

/* A key of the map. IPv4 addresses are in it as IPv4-mapped IPv6: 203.0.113.10/32 is ::ffff:203.0.113.10/128. */
struct bifurcate_prefix {
	__u32 bits; /* host byte order, 0..128 */
	__be32 address[4];
};
