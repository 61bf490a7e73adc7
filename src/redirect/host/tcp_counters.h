/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of the kernel's TCP in this network namespace (/proc/net/snmp and netstat). One thread. */
#pragma once

#include <stdint.h>

/* The kernel's line and name, and the metric. */
struct tcp_counter {
	const char *line, *kernel_name;
	const char *metric, *help;
};

enum {
	TCP_COUNTER_LISTEN_OVERFLOWS, /* the first one; the code names no other */
	TCP_COUNTER_COUNT = 6,
};

extern const struct tcp_counter tcp_counters[TCP_COUNTER_COUNT];

/* A counter that the kernel does not have is 0. */
void tcp_counters_read(uint64_t values[TCP_COUNTER_COUNT]);
