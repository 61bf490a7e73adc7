/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of the kernel's TCP in this network namespace (/proc/net/snmp and netstat). One thread. */
#ifndef GLB_REDIRECT_TCP_COUNTERS_H
#define GLB_REDIRECT_TCP_COUNTERS_H

#include <stdint.h>

/* Columns: symbol, the kernel's line and name, our name, help. */
#define TCP_COUNTER_LIST(X)                                                                                    \
	X(LISTEN_OVERFLOWS, "TcpExt", "ListenOverflows", "listen_overflows",                                   \
		"connections that the kernel dropped because the accept queue of a listening socket was full") \
	X(LISTEN_DROPS, "TcpExt", "ListenDrops", "listen_drops",                                               \
		"connections and SYNs that the kernel dropped at listening sockets, for any reason")           \
	X(COOKIES_SENT, "TcpExt", "SyncookiesSent", "syn_cookies_sent", "SYN cookies that the kernel sent")    \
	X(COOKIES_RECEIVED, "TcpExt", "SyncookiesRecv", "syn_cookies_received",                                \
		"valid SYN cookies that clients acknowledged")                                                 \
	X(COOKIES_FAILED, "TcpExt", "SyncookiesFailed", "syn_cookies_failed",                                  \
		"acknowledgements for listening sockets that were no valid SYN cookies")                       \
	X(CHECKSUM_ERRORS, "Tcp", "InCsumErrors", "tcp_checksum_errors", "TCP segments with a wrong checksum")

enum tcp_counter {
#define X(symbol, line, kernel_name, name, help) TCP_COUNTER_##symbol,
	TCP_COUNTER_LIST(X)
#undef X
		TCP_COUNTER_COUNT,
};

/* A counter that the kernel does not have is 0. */
void tcp_counters_read(uint64_t values[TCP_COUNTER_COUNT]);

#endif
