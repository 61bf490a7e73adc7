/* SPDX-License-Identifier: BSD-3-Clause */
/* "Fragmentation needed" (RFC 1191) and "packet too big" (RFC 4443) about a packet that does not fit outwards. Pure. */
#ifndef GLB_PACKET_TOO_BIG_H
#define GLB_PACKET_TOO_BIG_H

#include <stdint.h>

#include "gue/encapsulate.h"

#define TOO_BIG_HEADROOM (ENCAPSULATE_ETHERNET_SIZE + 40 + 8) /* Ethernet, IPv6, ICMPv6 */

/*
 * Turns the packet that begins at `ip` into the quote of an answer to its sender, from the address it was sent to: writes
 * TOO_BIG_HEADROOM bytes or fewer before `ip`. readable: bytes at `ip` that may be quoted. mtu: what fits, before the lower limit
 * of the family. Returns the first byte of the answer's frame and its size in *size.
 */
uint8_t *too_big_write(uint8_t *ip, uint32_t readable, uint8_t family, const struct encapsulate_outer *outer,
	uint32_t mtu, uint32_t *size);

#endif
