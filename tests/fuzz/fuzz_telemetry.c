/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the replies of a director to the programs that ask it: the subcommands of glb-director-cli, by the first
 * byte, and glb-announce. Newlines separate replies.
 */
#include <errno.h>

#include "announce/director.h"
#include "cli/cli.h"
#include "program/telemetry_socket.h"
#include "tests/fuzz/as_file.h"
#include "tests/fuzz/command_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_telemetry_socket_open(
	struct telemetry_socket *socket, const char *prefix, unsigned timeout_ms, struct faults *faults);
int __wrap_telemetry_socket_ask(
	struct telemetry_socket *socket, const char *command, json_t **reply, struct faults *faults);

static const char *next, *end;

/* The linker puts these two in the place of the connection. The reply is an object, or an array, as DPDK's parser has
 * it. */
int __wrap_telemetry_socket_open(
	struct telemetry_socket *socket, const char *prefix, unsigned timeout_ms, struct faults *faults)
{
	(void)prefix;
	(void)timeout_ms;
	(void)faults;
	*socket = (struct telemetry_socket){.fd = open("/dev/null", O_RDONLY | O_CLOEXEC), .pid = 7};
	return 0;
}

int __wrap_telemetry_socket_ask(
	struct telemetry_socket *socket, const char *command, json_t **reply, struct faults *faults)
{
	const char *line = next, *stop = next ? memchr(next, '\n', (size_t)(end - next)) : NULL;

	(void)socket;
	(void)command;
	*reply = NULL;
	if (!line || line == end)
		return -EPIPE;
	stop = stop ? stop : end;
	next = stop < end ? stop + 1 : end;
	*reply = json_loadb(line, (size_t)(stop - line), JSON_ALLOW_NUL, NULL);
	if (!*reply)
		faults_error(faults, NULL, "no JSON");
	return *reply ? 0 : -EPROTO;
}

static void ask_for_announce(void)
{
	const struct announce_conf conf = {.file_prefix = "rte", .timeout_ms = 1};
	struct netprefix prefix, prefixes[4];
	struct director director;
	char reason[DECISION_REASON_MAX];
	size_t left_out;

	netprefix_parse("203.0.113.10/32", &prefix, NULL);
	director_open(&director);
	director_ask(&director, &conf);
	director_ask(&director, &conf);
	director_answer(&director, &prefix, reason);
	director_prefixes(&director, &prefix.addr, prefixes, 4, &left_out);
	director_close(&director);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		const struct command *command;
		const char *words[COMMAND_LINE_MAX];
	} lines[] = {
		{&health_command, {"f", "health"}},
		{&health_command, {"f", "health", "--json"}},
		{&stats_command, {"f", "stats"}},
		{&stats_command, {"f", "stats", "--all"}},
		{&tables_command, {"f", "tables"}},
		{&next_hops_command, {"f", "next-hops"}},
		{&next_hops_command, {"f", "next-hops", "--json"}},
		{&show_command, {"f", "show", "--live"}},
		{&show_command, {"f", "show", "--live", "--json"}},
		{&lookup_command, {"f", "lookup", "--live", "198.51.100.7", "40000", "203.0.113.10", "443"}},
		{&reload_command, {"f", "reload"}},
	};
	const unsigned count = sizeof(lines) / sizeof(*lines);
	unsigned kind;

	if (size == 0)
		return 0;
	next = (const char *)data + 1;
	end = (const char *)data + size;
	kind = data[0] % (count + 1);
	if (kind == count)
		ask_for_announce();
	else
		command_line(lines[kind].command, lines[kind].words, "");
	return 0;
}
