/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/tcp_counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_SIZE 8192 /* bytes; the lines have about 3000 */

const struct tcp_counter tcp_counters[TCP_COUNTER_COUNT] = {
	{"TcpExt:", "ListenOverflows", "listen_overflows",
		"connections that the kernel dropped because the accept queue of a listening socket was full"},
	{"TcpExt:", "ListenDrops", "listen_drops",
		"connections and SYNs that the kernel dropped at listening sockets, for any reason"},
	{"TcpExt:", "SyncookiesSent", "syn_cookies_sent", "SYN cookies that the kernel sent"},
	{"TcpExt:", "SyncookiesRecv", "syn_cookies_received", "valid SYN cookies that clients acknowledged"},
	{"TcpExt:", "SyncookiesFailed", "syn_cookies_failed",
		"acknowledgements for listening sockets that were no valid SYN cookies"},
	{"Tcp:", "InCsumErrors", "tcp_checksum_errors", "TCP segments with a wrong checksum"},
};

/* names, values: a pair of lines: "TcpExt: NAME NAME ..." and "TcpExt: NUMBER NUMBER ..." */
static void take_lines(char *names, char *values, uint64_t found[TCP_COUNTER_COUNT])
{
	const char *line = strsep(&names, " "), *name, *value;

	strsep(&values, " ");
	while ((name = strsep(&names, " \n")) && (value = strsep(&values, " \n")))
		for (int i = 0; i < TCP_COUNTER_COUNT; i++)
			if (strcmp(tcp_counters[i].line, line) == 0 && strcmp(tcp_counters[i].kernel_name, name) == 0)
				sscanf(value, "%" SCNu64, &found[i]);
}

static void take_file(const char *path, uint64_t found[TCP_COUNTER_COUNT])
{
	static char names[LINE_MAX_SIZE], values[LINE_MAX_SIZE];
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	while (fgets(names, sizeof(names), file) && fgets(values, sizeof(values), file))
		take_lines(names, values, found);
	fclose(file);
}

void tcp_counters_read(uint64_t values[TCP_COUNTER_COUNT])
{
	memset(values, 0, TCP_COUNTER_COUNT * sizeof(*values));
	take_file("/proc/self/net/snmp", values);
	take_file("/proc/self/net/netstat", values);
}
