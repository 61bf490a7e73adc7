/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by losses.bpf.c and its loader. Includes no header of the C library, which BPF programs do not have. */
#pragma once

#include <linux/types.h>

/* The keys of the map `losses`. */
enum losses_kind {
	/* The kernel refused to redirect the packet, for example because the driver cannot send for XDP */
	LOSSES_KERNEL,
	LOSSES_DRIVER, /* the driver refused the packet, for example because its queue was full */
	LOSSES_COUNT,
};

/* Whose packets are counted: the interface with the XDP program. */
struct losses_of {
	__u32 ifindex;
	__u32 network; /* inode number of the network namespace */
};
