/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorts frames for the exception path into classes. Each class has its own limit, so a flood of one class does not
 * starve the others (docs/reference/exception-path.md). Pure, thread-safe.
 */
#pragma once

#include <stdint.h>

/* The classes before EXCEPTION_OTHER are the control plane. */
enum exception_class {
	EXCEPTION_NEIGHBOUR, /* ARP, ND, MLD and IGMP of hosts on the link. A loop or a scan floods with these first */
	/*
	 * Other frames that only a host on the link can send: LACP, LLDP, IS-IS; and the protocols of EXCEPTION_ROUTING
	 * with a TTL of 255, with a multicast destination that routers do not forward, or with an IPv6 link-local
	 * source.
	 */
	EXCEPTION_LINK,
	EXCEPTION_ROUTING, /* BGP, BFD, OSPF and VRRP that any host may have sent */
	EXCEPTION_ICMP, /* ICMP and ICMPv6 to a unicast MAC */
	EXCEPTION_OTHER,
	EXCEPTION_CLASSES,
};

/*
 * frame: from the Ethernet header on; `readable` bytes may be read. If a header lies beyond them, the class is
 * EXCEPTION_OTHER.
 */
enum exception_class exception_classify(const uint8_t *frame, uint32_t readable);
