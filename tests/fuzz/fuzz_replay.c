/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads any bytes as a capture: glb-director-cli replay or decode, by the first byte. */
#include <arpa/inet.h>

#include "cli/cli.h"
#include "tests/fuzz/as_file.h"
#include "tests/fuzz/command_line.h"
#include "tests/unit/handmade.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The linker puts these in the place of the real ones: a table would be read for each input. */
bool __wrap_cli_load_routes(const char *path, struct routes **routes, uint32_t *version);
bool __wrap_cli_load_conf(const char *path, struct conf *conf);
void __wrap_routes_free(struct routes *routes);

bool __wrap_cli_load_routes(const char *path, struct routes **routes, uint32_t *version)
{
	static struct routes *all;
	struct table_set set = {0};

	(void)path;
	if (!all) {
		handmade_table(&set, 50, 4);
		handmade_bind(&set, 0, "0.0.0.0/0", TABLE_TCP, 0, 65535);
		handmade_bind(&set, 0, "0.0.0.0/1", TABLE_UDP, 0, 65535);
		handmade_bind(&set, 0, "::/0", TABLE_UDP, 0, 65535);
		all = handmade_routes(&set);
	}
	*routes = all;
	*version = 3;
	return true;
}

bool __wrap_cli_load_conf(const char *path, struct conf *conf)
{
	(void)path;
	*conf = (struct conf){
		.outbound_src_ip = inet_addr("192.0.2.1"),
		.gateway_auto = true,
		.steering = {.hash_fields = STEERING_SOURCE_ADDRESS,
			.outbound_mtu = 1500,
			.send_too_big = true,
			.forward_ping = true},
	};
	return true;
}

void __wrap_routes_free(struct routes *routes)
{
	(void)routes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const lines[][COMMAND_LINE_MAX] = {
		{"f", "replay", "--list", "table", "FILE"},
		{"f", "replay", "--drops", "--json", "table", "FILE"},
		{"f", "decode", "FILE"},
		{"f", "decode", "--json", "FILE"},
	};
	unsigned line;

	if (size == 0)
		return 0;
	line = data[0] % 4;
	command_line(line < 2 ? &replay_command : &decode_command, lines[line], as_file(data + 1, size - 1));
	return 0;
}
