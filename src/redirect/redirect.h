/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the eBPF program and its loader share: counters, settings, names. Freestanding.
 */
#ifndef GLB_REDIRECT_REDIRECT_H
#define GLB_REDIRECT_REDIRECT_H

#include <linux/types.h>

/*
 * What became of a GUE packet (docs/reference/redirect.md#the-decision): exactly one of these each, and each in
 * `total`. This list is the only one: the counters' map, `glb-redirect stats` and
 * docs/reference/redirect.md come from it. New ones go to the end, so that an upgrade can keep the
 * old ones. symbol, name, help
 */
#define REDIRECT_COUNTER_LIST(X)                                                                                     \
	X(TOTAL, "total", "GUE packets: the sum of all below")                                                       \
	X(ACCEPTED_SYN, "accepted_syn", "opens a TCP connection: SYN without ACK")                                   \
	X(ACCEPTED_ESTABLISHED, "accepted_established", "belongs to a socket of this host")                          \
	X(ACCEPTED_SYN_COOKIE, "accepted_syn_cookie", "answers a SYN cookie of this host")                           \
	X(ACCEPTED_LAST_RESORT, "accepted_last_resort", "unknown, and no hop is left")                               \
	X(ACCEPTED_OTHER, "accepted_other", "kept by the first hop: ping, UDP, later fragments")                     \
	X(FORWARDED_TO_ALTERNATE, "forwarded_to_alternate", "unknown; handed to the driver for the next hop")        \
	X(FORWARDED_TO_SELF, "forwarded_to_self", "unknown; the next hop is this host")                              \
	X(DROP_TRUNCATED, "drop_truncated", "ends inside its outer or GUE headers")                                  \
	X(DROP_BAD_VERSION, "drop_bad_version", "GUE version is not 0")                                              \
	X(DROP_CONTROL, "drop_control", "a GUE control message")                                                     \
	X(DROP_BAD_FLAGS, "drop_bad_flags", "GUE flags are not 0")                                                   \
	X(DROP_BAD_PROTOCOL, "drop_bad_protocol", "neither IPv4 nor IPv6 inside")                                    \
	X(DROP_BAD_LENGTH, "drop_bad_length", "hlen exceeds the packet or is not 1 + hop count")                     \
	X(DROP_BAD_TYPE, "drop_bad_type", "private data type is not 0")                                              \
	X(DROP_BAD_INDEX, "drop_bad_index", "next hop index exceeds the hop count")                                  \
	X(DROP_INNER_TRUNCATED, "drop_inner_truncated", "the inner packet ends inside a header")                     \
	X(DROP_INNER_MALFORMED, "drop_inner_malformed", "an inner header contradicts itself")                        \
	X(DROP_INNER_EXTENSION_HEADERS, "drop_inner_extension_headers", "more than 8 IPv6 extension headers inside") \
	X(DROP_ECN, "drop_ecn", "congestion was marked on a flow that cannot hear it (RFC 6040)")                    \
	X(DROP_TTL, "drop_ttl", "outer TTL is used up: hops that forward in a circle")                               \
	X(DROP_NOT_STRIPPED, "drop_not_stripped", "the kernel could not remove the outer headers")                   \
	X(SYN_COOKIE_SENT, "syn_cookie_sent", "a SYN, answered here for a full queue: --syn-cookies")

enum redirect_counter {
#define X(symbol, name, help) REDIRECT_##symbol,
	REDIRECT_COUNTER_LIST(X)
#undef X
		REDIRECT_COUNTER_COUNT,
};

enum redirect_udp {
	REDIRECT_UDP_FIRST_HOP, /* the first hop keeps all UDP */
	REDIRECT_UDP_CONNECTED, /* only for connected sockets, and what opens a QUIC connection */
};

/*
 * The program's only read-only data: set before it is loaded, constant for the verifier, and read
 * back by `status`. New members go to the end: those that an older version does not have are 0.
 */
struct redirect_settings {
	__u32 layout; /* program_layout() of all counters: identifies their list */
	__u16 port; /* host order */
	__u16 udp; /* enum redirect_udp */
	char version[16]; /* of the loader */
	__u16 syn_cookies; /* 1: this program answers SYNs when the kernel would with a cookie */
	__u16 mtu; /* bytes of an IP packet that surely reaches this host, outer headers and all */
};

#define REDIRECT_OLDEST_SETTINGS 24 /* their size in the first version */

#endif
