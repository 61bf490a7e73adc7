/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP "fragmentation needed" or ICMPv6 "packet too big" about the director's own packets to a proxy: the underlay,
 * which is the network between directors and proxies, has a smaller MTU than outbound_mtu says. Anybody can forge this
 * message, so it changes nothing but what the director reports. Pure, thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/netaddr.h"
#include "common/span.h"

struct underlay_note {
	struct netaddr backend; /* the destination of the packet that was too big */
	struct netaddr router; /* the sender of the message */
	uint16_t mtu; /* of the router's link, less than outbound_mtu */
	bool guessed; /* the router did not tell its MTU, so `mtu` is the next plateau of RFC 1191; never with IPv6 */
};

/*
 * Reads an IP packet of the family of own_address. True: it is this message about a GUE packet from own_address, and
 * *note is filled. The caller checks that the backend exists. packet: its readable bytes, without padding.
 * outbound_mtu: as in struct steering_config.
 */
bool underlay_parse(
	struct span packet, const struct netaddr *own_address, uint16_t outbound_mtu, struct underlay_note *note);
