/* SPDX-License-Identifier: BSD-3-Clause */
/* Too-big replies: ICMP "fragmentation needed" (RFC 1191) and ICMPv6 "packet too big" (RFC 4443). Pure, thread-safe. */
#ifndef GLB_PACKET_TOO_BIG_H
#define GLB_PACKET_TOO_BIG_H

#include <stdint.h>

#include "common/net.h"
#include "gue/encapsulate.h"

#define TOO_BIG_HEADROOM (NET_ETHERNET_SIZE + NET_IPV6_SIZE + NET_ICMP_SIZE)

/*
 * Writes the headers of a reply before the packet at `ip`, which becomes the quote. The reply goes to the sender of the
 * packet, from the address that the packet was sent to. It needs up to TOO_BIG_HEADROOM writable bytes before `ip`.
 * readable: bytes at `ip` that may be quoted. mtu: the largest packet that fits; the reply raises it to the minimum of
 * the family. Returns the first byte of the frame, and its size in *size.
 */
uint8_t *too_big_write(uint8_t *ip, uint32_t readable, uint8_t family, const struct encapsulate_outer *outer,
	uint32_t mtu, uint32_t *size);

#endif
