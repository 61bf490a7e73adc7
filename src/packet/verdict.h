/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What became of a received packet: exactly one verdict each, so received = the sum of all. This list is the only one: the
 * enum, counters, telemetry keys and the table in docs/reference/counters.md come from it.
 */
#ifndef GLB_PACKET_VERDICT_H
#define GLB_PACKET_VERDICT_H

/* symbol, name, help */
#define VERDICT_LIST(X)                                                                                          \
	X(VERDICT_FORWARDED, "forwarded", "sent to a proxy in GUE")                                              \
	X(VERDICT_ANSWERED_TOO_BIG, "answered_too_big", "would exceed outbound_mtu; answered with ICMP too big") \
	X(VERDICT_EXCEPTION, "exception", "unmatched; handed to the exception path")                             \
	X(VERDICT_DROP_UNMATCHED, "drop_unmatched", "no bind covers it and there is no exception path")          \
	X(VERDICT_DROP_TRUNCATED, "drop_truncated", "a header, or the length it claims, ends beyond the frame")  \
	X(VERDICT_DROP_MALFORMED, "drop_malformed", "a header contradicts itself")                               \
	X(VERDICT_DROP_EXTENSION_HEADERS, "drop_extension_headers", "more than 8 IPv6 extension headers")        \
	X(VERDICT_DROP_FRAGMENT, "drop_fragment", "a later fragment, which cannot be steered by its addresses")  \
	X(VERDICT_DROP_TOO_BIG, "drop_too_big", "would exceed outbound_mtu with its outer headers")              \
	X(VERDICT_DROP_NO_GATEWAY, "drop_no_gateway", "the gateway's MAC is not known yet")                      \
	X(VERDICT_DROP_NO_BUFFER, "drop_no_buffer",                                                              \
		"no room or no buffer for the outer headers, or the port cannot send it")                        \
	X(VERDICT_DROP_TX_FULL, "drop_tx_full", "the transmit queue or ring was full")                           \
	X(VERDICT_DROP_EXCEPTION_FULL, "drop_exception_full", "the exception path did not take it")

enum verdict {
#define X(symbol, name, help) symbol,
	VERDICT_LIST(X)
#undef X
		VERDICT_COUNT,
};

const char *verdict_name(enum verdict verdict);
const char *verdict_help(enum verdict verdict);

#endif
