/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters and settings, shared by the eBPF program and its loader. Includes no header of the C library,
 * which BPF programs do not have.
 */
#pragma once

#include <linux/types.h>

/*
 * The program counts each GUE packet in `total` and in exactly one other counter
 * (docs/reference/redirect.md#the-decision). This list is the only one: the counters' map and
 * `glb-redirect stats` are generated from it, and a test compares docs/reference/redirect.md with it.
 * Add a counter at the end, so that an upgrade can keep the values of the old ones.
 * Columns: symbol, name, help.
 */
#define REDIRECT_COUNTER_LIST(X)                                                                                     \
	X(TOTAL, "total", "GUE packets: the sum of all other counters")                                              \
	X(ACCEPTED_SYN, "accepted_syn", "opens a TCP connection (SYN without ACK)")                                  \
	X(ACCEPTED_ESTABLISHED, "accepted_established", "belongs to a socket of this host")                          \
	X(ACCEPTED_SYN_COOKIE, "accepted_syn_cookie", "acknowledges a SYN cookie of this host")                      \
	X(ACCEPTED_LAST_RESORT, "accepted_last_resort", "unknown here, and no hop is left")                          \
	X(ACCEPTED_OTHER, "accepted_other", "needs no socket: ping, UDP, later fragments")                           \
	X(FORWARDED_TO_ALTERNATE, "forwarded_to_alternate", "unknown here: handed to the driver for the next hop")   \
	X(FORWARDED_TO_SELF, "forwarded_to_self", "unknown here, but the next hop is this host: accepted")           \
	X(DROP_TRUNCATED, "drop_truncated", "ends inside its outer or GUE headers")                                  \
	X(DROP_BAD_VERSION, "drop_bad_version", "GUE version is not 0")                                              \
	X(DROP_CONTROL, "drop_control", "a GUE control message")                                                     \
	X(DROP_BAD_FLAGS, "drop_bad_flags", "GUE flags are not 0")                                                   \
	X(DROP_BAD_PROTOCOL, "drop_bad_protocol", "the inner protocol is neither IPv4 nor IPv6")                     \
	X(DROP_BAD_LENGTH, "drop_bad_length", "header length exceeds the packet or does not fit the hop count")      \
	X(DROP_BAD_TYPE, "drop_bad_type", "private data type is not that of the outer header")                       \
	X(DROP_BAD_INDEX, "drop_bad_index", "next hop index exceeds the hop count")                                  \
	X(DROP_INNER_TRUNCATED, "drop_inner_truncated", "the inner packet ends inside a header")                     \
	X(DROP_INNER_MALFORMED, "drop_inner_malformed", "an inner IP header has an invalid version or length")       \
	X(DROP_INNER_EXTENSION_HEADERS, "drop_inner_extension_headers", "more than 8 IPv6 extension headers inside") \
	X(DROP_ECN, "drop_ecn", "marked as congested, but the flow does not use ECN (RFC 6040)")                     \
	X(DROP_TTL, "drop_ttl", "the outer TTL ran out: proxies forward in a loop")                                  \
	X(DROP_NOT_STRIPPED, "drop_not_stripped", "the kernel could not remove the outer headers")                   \
	X(SYN_COOKIE_SENT, "syn_cookie_sent", "a SYN for a full queue, answered with a cookie (--syn-cookies)")      \
	X(FORWARDED_BY_ROUTE, "forwarded_by_route", "as forwarded_to_alternate, by the kernel's route (--forward)")  \
	X(UDP_UNCONNECTED_LISTENER, "udp_unconnected_listener", "UDP of an unconnected socket: accepted")            \
	X(RETURNED_TO_FIRST_HOP, "returned_to_first_hop", "UDP of an unconnected socket: sent to the first hop")     \
	X(DROP_SPLIT_HEADERS, "drop_split_headers", "the driver put the headers into another buffer than the first") \
	X(NOT_FOR_US, "not_for_us", "for the MAC or the address of another host: left to the kernel")                \
	X(DROP_SOURCE, "drop_source", "the sender is not in allow_from")                                             \
	X(DROP_DESTINATION, "drop_destination", "the inner destination is not in allow_to")                          \
	X(DROP_NEXT_HOP, "drop_next_hop", "unknown here, and the next hop is not in next_hops")                      \
	X(DROP_HOPS, "drop_hops", "unknown here, and max_hops proxies have passed it on")                            \
	X(DROP_INNER_CHECKSUM, "drop_inner_checksum", "wrong inner TCP or UDP checksum, where XDP has no metadata")  \
	X(QUIC_KEPT, "quic_kept", "QUIC whose connection ID names this host: accepted")                              \
	X(QUIC_PASSED_ON, "quic_passed_on", "QUIC whose connection ID names a later hop: handed to the driver")

enum redirect_counter {
#define X(symbol, name, help) REDIRECT_##symbol,
	REDIRECT_COUNTER_LIST(X)
#undef X
		REDIRECT_COUNTER_COUNT,
};

/*
 * The program also counts each packet that this host accepts by the hop at which it does: 0 is the first hop. The last
 * value counts that hop and later ones, which only exist with alt_hash_fields; a row has at most this many hops.
 */
#define REDIRECT_HOPS 8

enum redirect_udp {
	REDIRECT_UDP_FIRST_HOP, /* the first hop accepts all UDP */
	/* A hop accepts UDP for its connected sockets, and packets that open a QUIC connection. */
	REDIRECT_UDP_CONNECTED,
};

enum redirect_forward {
	REDIRECT_FORWARD_SENDER, /* to the MAC address that sent the frame */
	REDIRECT_FORWARD_FIB, /* to the MAC address of the kernel's route to the next hop, else as above */
};

/* Bytes of the path of redirect.conf, with NUL. */
#define REDIRECT_CONFIG_FILE_MAX 256

/* The lists of addresses in the map `lists`. A list that allows every address has a prefix of length 0. */
enum redirect_list {
	REDIRECT_LIST_MAC, /* the frames for these MAC addresses are for this host */
	REDIRECT_LIST_LOCAL, /* the addresses of this host */
	REDIRECT_LIST_FROM, /* allow_from */
	REDIRECT_LIST_TO, /* allow_to, unless it is "local" */
	REDIRECT_LIST_NEXT_HOP, /* next_hops */
};

#define REDIRECT_MAX_PREFIXES (1 << 20)

/* The key of the map `lists`. The value is unused by the program. */
struct redirect_prefix {
	__u32 length; /* bits of what follows */
	__u32 list; /* enum redirect_list, and REDIRECT_IPV4 for an IPv4 address */
	__u8 address[16]; /* IPv6; or IPv4 or a MAC address in the first bytes, and zeros */
};

#define REDIRECT_IPV4 0x100

/* The `length` for a prefix of this many bits of an address. */
#define REDIRECT_PREFIX_BITS(bits) (32 + (bits))

enum redirect_checksums {
	REDIRECT_CHECKSUMS_NOBODY, /* older versions: the kernel trusts what it knows of the outer packet */
	REDIRECT_CHECKSUMS_KERNEL, /* all inner packets are marked, so the kernel verifies their checksums */
	REDIRECT_CHECKSUMS_PROGRAM, /* the program verifies TCP and UDP, and marks what is not right */
};

/* Bytes from the start of a kernel's socket to its members. Without BTF the program cannot read them. */
struct redirect_offsets {
	__u16 is_known;
	__u16 time_wait_snd_nxt, time_wait_rcv_nxt; /* struct tcp_timewait_sock */
	__u16 request_snt_isn, request_rcv_nxt; /* struct tcp_request_sock */
};

/*
 * Read-only data of the program. The loader sets it before it loads the program, so the verifier
 * treats it as constant. `glb-redirect status` reads it from the attached program, which can be of an
 * older version. So add members at the end only, and let 0 stand for the behaviour of older versions.
 */
struct redirect_settings {
	__u32 layout; /* program_layout() of all counters, which identifies their list */
	__u16 port; /* UDP port of GUE, host byte order */
	__u16 udp; /* enum redirect_udp */
	char version[16]; /* of the loader, ends with NUL */
	__u16 syn_cookies; /* 1: the program, not the kernel, replies to SYNs with cookies */
	__u16 mtu; /* bytes; outer IP packets of up to this size certainly reach this host */
	__u16 forward; /* enum redirect_forward */
	__u16 frags; /* 1: the kernel gives the program frames in several buffers */
	__u8 max_hops; /* the program passes a packet on that fewer hops have passed on */
	__u8 allow_to_local; /* 1: the inner destination must be in REDIRECT_LIST_LOCAL, 0: in REDIRECT_LIST_TO */
	char config_file[REDIRECT_CONFIG_FILE_MAX]; /* full path, ends with NUL; "": none */
	__u16 checksums; /* enum redirect_checksums */
	__u16 outer_ipv6; /* 1: the program takes GUE packets with outer IPv6, too */
	__u32 quic; /* redirect_quic_digest(): what the program knows of QUIC; 0: nothing */
	__u32 without_numbers; /* 1: the program has no struct redirect_offsets */
};

#define REDIRECT_OLDEST_SETTINGS 24 /* bytes, the size of struct redirect_settings in the first version */
