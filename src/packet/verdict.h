/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outcome for a received packet. Each packet gets exactly one verdict, so the number of received packets is the sum
 * of all verdict counters. The enum, the counters, the telemetry keys and the table in docs/reference/counters.md come
 * from this list.
 */
#pragma once

/* Enum member, key in counters and JSON, help text. */
#define VERDICT_LIST(X)                                                                                                \
	X(VERDICT_FORWARDED, "forwarded", "sent to a proxy in GUE")                                                    \
	X(VERDICT_ANSWERED_TOO_BIG, "answered_too_big",                                                                \
		"exceeds outbound_mtu with its outer headers; the director sent a too-big reply")                      \
	X(VERDICT_UNDERLAY_TOO_BIG, "underlay_too_big",                                                                \
		"an ICMP error about a GUE packet of the director: too big for the network to a proxy")                \
	X(VERDICT_EXCEPTION, "exception",                                                                              \
		"no bind matches it, or it is broadcast or multicast; passed to the exception path")                   \
	X(VERDICT_DROP_NOT_FOR_US, "drop_not_for_us",                                                                  \
		"not sent to an accepted MAC, or broadcast or multicast and there is no exception path")               \
	X(VERDICT_DROP_VLAN, "drop_vlan", "untagged or in a VLAN that accept_vlans does not have")                     \
	X(VERDICT_DROP_MARTIAN, "drop_martian", "from a source address that no client can have")                       \
	X(VERDICT_DROP_UNMATCHED, "drop_unmatched", "no bind matches it, and there is no exception path")              \
	X(VERDICT_DROP_TRUNCATED, "drop_truncated", "the frame is shorter than its headers, or than a length in them") \
	X(VERDICT_DROP_MALFORMED, "drop_malformed", "an IP header has the wrong version or an impossible length")      \
	X(VERDICT_DROP_EXTENSION_HEADERS, "drop_extension_headers", "more than 8 IPv6 extension headers")              \
	X(VERDICT_DROP_FRAGMENT, "drop_fragment", "a later fragment that its addresses alone cannot steer")            \
	X(VERDICT_DROP_TOO_BIG, "drop_too_big", "exceeds outbound_mtu with its outer headers")                         \
	X(VERDICT_DROP_NO_NEXT_HOP, "drop_no_next_hop", "no next hop to the proxy is known")                           \
	X(VERDICT_DROP_NO_BUFFER, "drop_no_buffer",                                                                    \
		"no buffer or headroom for the outer headers, or several segments that the port cannot send")          \
	X(VERDICT_DROP_TX_FULL, "drop_tx_full", "the transmit queue or ring was full")                                 \
	X(VERDICT_DROP_EXCEPTION_LIMITED, "drop_exception_limited",                                                    \
		"for the exception path, but beyond exception_limits")                                                 \
	X(VERDICT_DROP_EXCEPTION_FULL, "drop_exception_full", "the exception path did not accept it")

enum verdict {
#define X(symbol, name, help) symbol,
	VERDICT_LIST(X)
#undef X
		VERDICT_COUNT,
};

const char *verdict_name(enum verdict verdict);
const char *verdict_help(enum verdict verdict);
