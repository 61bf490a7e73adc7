/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Addresses of both families. Callers pass constants for `ipv6`. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

/* Bytes of an address. */
#define ADDRESS_SIZE(ipv6) ((ipv6) ? 16 : 4)

static __always_inline bool address_equal(const __u32 *one, const __u32 *other, bool ipv6)
{
	__u32 differences = 0;

#pragma unroll
	for (int i = 0; i < ADDRESS_SIZE(ipv6) / 4; i++)
		differences |= one[i] ^ other[i];
	return !differences;
}
