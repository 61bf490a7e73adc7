/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Too-big replies: ICMP "fragmentation needed" (RFC 1191) and ICMPv6 "packet too big" (RFC 4443), and which packets get
 * one. Pure, thread-safe.
 */
#pragma once

#include <stdint.h>

#include "common/net.h"
#include "gue/encapsulate.h"
#include "packet/flow.h"
#include "packet/routes.h"
#include "packet/steering.h"
#include "packet/icmp/too_big_limit.h"

#define TOO_BIG_HEADROOM (NET_ETHERNET_SIZE + NET_IPV6_SIZE + NET_ICMP_SIZE)

/* Why a packet that is too big gets no reply. */
enum too_big_refusal {
	TOO_BIG_REPLY, /* it gets one */
	TOO_BIG_OFF, /* send_icmp_too_big is false */
	TOO_BIG_FORBIDDEN, /* standards forbid a reply, or it would not reach a client */
	TOO_BIG_WITHOUT_DF, /* an IPv4 packet that routers may fragment */
	TOO_BIG_LIMITED, /* the rate limit (too_big_limit.h) */
};

/*
 * Returns whether the packet in `frame` gets a reply, or why not. flow: of the frame, with VERDICT_FORWARDED.
 * outer: with the director's
 * addresses. limit: NULL: there is none.
 */
enum too_big_refusal too_big_check(const uint8_t *frame, const struct flow *flow, const struct routes *routes,
	const struct steering_config *steering, const struct encapsulate_outer *outer, struct too_big_limit *limit);

/*
 * Writes the headers of a reply before the packet at `ip`, which becomes the quote. The reply goes to the sender of the
 * packet, from the address that the packet was sent to. It needs up to TOO_BIG_HEADROOM writable bytes before `ip`.
 * readable: bytes at `ip` that may be quoted. mtu: the largest packet that fits; the reply raises it to the minimum of
 * the family. Returns the first byte of the frame, and its size in *size.
 */
uint8_t *too_big_write(uint8_t *ip, uint32_t readable, uint8_t family, const struct encapsulate_outer *outer,
	uint32_t mtu, uint32_t *size);
