/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/attach_options.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "gue/gue_wire.h"

const struct command_option attach_options[] = {
	[ATTACH_MODE] = {"mode", "native|generic", "run in the driver (default), or on any interface but slower"},
	[ATTACH_PORT] = {"port", "N", "UDP port of GUE", TEXT_OF(GUE_PORT), 1, UINT16_MAX},
	[ATTACH_UDP] = {"udp", "first-hop|connected",
		"accept all UDP at the first hop (default), or only for connected sockets"},
	[ATTACH_SYN_COOKIES] = {"syn-cookies", "off|on",
		"on: the program, not the kernel, replies to SYNs for a full queue", "off"},
	[ATTACH_FORWARD] = {"forward", "sender|fib",
		"next hops: by the frame's sender (default), or by the kernel's route if it knows one"},
	[ATTACH_CONFIG_FILE] = {"config-file", "FILE",
		"redirect.conf: who may send to this host, and where to (default: anyone)"},
	[ATTACH_DEBUG] = {"debug", NULL, "print the messages of libbpf and of the kernel's verifier"},
	{0},
};

/* Sets the full path of the file, because `glb-redirect reload` may run in another folder. */
static bool read_config_file(const char *path, char full[REDIRECT_CONFIG_FILE_MAX], char error[COMMAND_FAULT_MAX])
{
	char folder[REDIRECT_CONFIG_FILE_MAX] = "";
	int size;

	if (!path)
		return true;
	if (path[0] != '/' && !getcwd(folder, sizeof(folder))) {
		snprintf(error, COMMAND_FAULT_MAX,
			"--config-file: the path of the current folder is too long: write a full path");
		return false;
	}
	size = snprintf(full, REDIRECT_CONFIG_FILE_MAX, "%s%s%s", folder, *folder ? "/" : "", path);
	if (*path && size < REDIRECT_CONFIG_FILE_MAX)
		return true;
	snprintf(error, COMMAND_FAULT_MAX, "--config-file: the full path must have 1 to %d bytes",
		REDIRECT_CONFIG_FILE_MAX - 1);
	return false;
}

bool attach_options_read(const struct command_args *args, struct redirect_settings *settings, bool *generic,
	char error[COMMAND_FAULT_MAX])
{
	*generic = args->numbers[ATTACH_MODE];
	settings->port = (uint16_t)args->numbers[ATTACH_PORT];
	settings->udp = (uint16_t)args->numbers[ATTACH_UDP];
	settings->syn_cookies = (uint16_t)args->numbers[ATTACH_SYN_COOKIES];
	settings->forward = (uint16_t)args->numbers[ATTACH_FORWARD];
	return read_config_file(args->options[ATTACH_CONFIG_FILE], settings->config_file, error);
}
