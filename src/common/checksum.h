/* SPDX-License-Identifier: BSD-3-Clause */
/* The Internet checksum (RFC 1071) over bytes in network order. Pure, thread-safe. */
#ifndef GLB_COMMON_CHECKSUM_H
#define GLB_COMMON_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Adds `size` bytes to a running sum. Every piece but the last must have an even size. All pieces together have at most 64 KiB. */
uint32_t checksum_add(uint32_t sum, const void *bytes, size_t size);

/* Returns the value of the checksum field, host order. */
uint16_t checksum_finish(uint32_t sum);

#endif
