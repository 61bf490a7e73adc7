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
	[ATTACH_PORT] = {"port", "N", "UDP port of GUE (default: 19523)"},
	[ATTACH_UDP] = {"udp", "first-hop|connected",
		"accept all UDP at the first hop (default), or only for connected sockets"},
	[ATTACH_SYN_COOKIES] = {"syn-cookies", "off|on",
		"on: the program, not the kernel, replies to SYNs for a full queue (default: off)"},
	[ATTACH_FORWARD] = {"forward", "sender|fib",
		"next hops: by the frame's sender (default), or by the kernel's route if it knows one"},
	[ATTACH_CONFIG_FILE] = {"config-file", "FILE",
		"redirect.conf: who may send to this host, and where to (default: anyone)"},
	[ATTACH_DEBUG] = {"debug", NULL, "print the messages of libbpf and of the kernel's verifier"},
	{0},
};

/* Sets *value to 0 if the option has the value `first`, to 1 if it has `second`, and to 0 if it was not given. */
static bool read_word(const struct command_args *args, int option, const char *first, const char *second,
	uint16_t *value, char error[ATTACH_ERROR_MAX])
{
	const char *text = args->options[option];

	*value = text && strcmp(text, second) == 0;
	if (!text || *value || strcmp(text, first) == 0)
		return true;
	snprintf(error, ATTACH_ERROR_MAX, "--%s: '%s' is neither %s nor %s", attach_options[option].name, text, first,
		second);
	return false;
}

/* Sets the full path of the file, because `glb-redirect reload` may run in another folder. */
static bool read_config_file(const char *path, char full[REDIRECT_CONFIG_FILE_MAX], char error[ATTACH_ERROR_MAX])
{
	char folder[REDIRECT_CONFIG_FILE_MAX] = "";
	int size;

	if (!path)
		return true;
	if (path[0] != '/' && !getcwd(folder, sizeof(folder))) {
		snprintf(error, ATTACH_ERROR_MAX,
			"--config-file: the path of the current folder is too long: write a full path");
		return false;
	}
	size = snprintf(full, REDIRECT_CONFIG_FILE_MAX, "%s%s%s", folder, *folder ? "/" : "", path);
	if (*path && size < REDIRECT_CONFIG_FILE_MAX)
		return true;
	snprintf(error, ATTACH_ERROR_MAX, "--config-file: the full path must have 1 to %d bytes",
		REDIRECT_CONFIG_FILE_MAX - 1);
	return false;
}

bool attach_options_read(const struct command_args *args, struct redirect_settings *settings, bool *generic,
	char error[ATTACH_ERROR_MAX])
{
	const char *text = args->options[ATTACH_PORT];
	uint32_t port = GUE_PORT;
	uint16_t mode;

	if (!read_word(args, ATTACH_MODE, "native", "generic", &mode, error) ||
		!read_word(args, ATTACH_UDP, "first-hop", "connected", &settings->udp, error) ||
		!read_word(args, ATTACH_SYN_COOKIES, "off", "on", &settings->syn_cookies, error) ||
		!read_word(args, ATTACH_FORWARD, "sender", "fib", &settings->forward, error) ||
		!read_config_file(args->options[ATTACH_CONFIG_FILE], settings->config_file, error))
		return false;
	if (text && !text_number(text, 1, UINT16_MAX, &port)) {
		snprintf(error, ATTACH_ERROR_MAX, "--port: '%s' is not a number from 1 to 65535", text);
		return false;
	}
	settings->port = (uint16_t)port;
	*generic = mode;
	return true;
}
