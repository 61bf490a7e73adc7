/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/tcp_counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_SIZE 8192 /* bytes; the lines have about 3000 */

static const struct {
	const char *line, *name;
} counters[] = {
#define X(symbol, line, kernel_name, name, help) {line ":", kernel_name},
	TCP_COUNTER_LIST(X)
#undef X
};

/* names, values: a pair of lines: "TcpExt: NAME NAME ..." and "TcpExt: NUMBER NUMBER ..." */
static void take_lines(char *names, char *values, uint64_t found[TCP_COUNTER_COUNT])
{
	const char *line = strsep(&names, " "), *name, *value;

	strsep(&values, " ");
	while ((name = strsep(&names, " \n")) && (value = strsep(&values, " \n")))
		for (int i = 0; i < TCP_COUNTER_COUNT; i++)
			if (strcmp(counters[i].line, line) == 0 && strcmp(counters[i].name, name) == 0)
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
