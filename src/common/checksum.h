/* SPDX-License-Identifier: BSD-3-Clause */
/* The Internet checksum (RFC 1071) over bytes in network order. Pure, thread-safe. */
#ifndef GLB_COMMON_CHECKSUM_H
#define GLB_COMMON_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Adds `size` bytes to a running sum; every piece but the last has an even size; at most 64 KiB in all. */
uint32_t checksum_add(uint32_t sum, const void *bytes, size_t size);

/* The checksum field's value, host order. */
uint16_t checksum_finish(uint32_t sum);

#endif
