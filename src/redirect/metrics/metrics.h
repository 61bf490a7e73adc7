/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The metrics of this proxy (docs/reference/metrics.md#metrics-of-a-proxy) as text: counters of the programs on all
 * interfaces, and TCP in this network namespace. One thread. The functions print nothing.
 */
#pragma once

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"
#include "program/openmetrics.h"
#include "redirect/kernel/attached.h"
#include "redirect/host/tcp_counters.h"
#include "redirect/metrics/sockets.h"

#define METRICS_MAX_PROGRAMS 64 /* the senders of more are not read */
#define METRICS_MAX_SENDERS  64 /* prefixes of a program; `omitted` counts the others */

/* The hosts that may send to the programs: allow_from of each. A program that allows every address, or whose list
 * cannot be read, has no entry. */
struct metrics_senders {
	size_t count;
	struct metrics_sender {
		char interface[IFNAMSIZ];
		size_t count, omitted;
		struct netprefix prefixes[METRICS_MAX_SENDERS];
	} programs[METRICS_MAX_PROGRAMS];
};

struct metrics {
	/* The programs on all interfaces, in order of name. programs_error: 0, or -errno: the pins cannot be read. */
	struct attached *programs;
	size_t program_count;
	int programs_error;
	bool readable, followed, sockets_readable;
	uint64_t tcp[TCP_COUNTER_COUNT];
	/* Reading a million sockets, or prefixes, takes about a second of CPU time, so the result is used for some
	 * time. */
	struct sockets sockets;
	struct metrics_senders senders;
	uint64_t sockets_next_us; /* when they may be read again, as clock_now_us() */
	double sockets_timestamp, sockets_duration; /* Unix time when they were read, and how long it took: seconds */
};

/* Reads the programs, and the sockets if they are due. Returns programs_error; -EPERM: this process may not
 * read them. */
int metrics_read(struct metrics *metrics);

/* Writes what was read. Returns the text, which the caller frees, or NULL if out of memory. */
char *metrics_format(const struct metrics *metrics, enum openmetrics_format format, size_t *size);

void metrics_free(struct metrics *metrics);
