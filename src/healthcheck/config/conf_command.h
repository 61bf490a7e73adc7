/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of healthcheck.conf, which tables name in their checks. A table cannot bring its own command, so that
 * whoever writes tables cannot run programs on this host. Read-only after it was read.
 */
#pragma once

#include <stddef.h>

#include "conf/conf_key.h"

struct conf_command {
	char *name;
	/* The path of the program and its arguments; NULL at the end. Owned, with its strings. */
	char **arguments;
};

struct conf_commands {
	struct conf_command *items;
	size_t count;
};

/* In an argument, this text stands for the address of the proxy. */
#define CONF_COMMAND_IP "{ip}"

/* The keys of a command, and the reader of the list `commands`: `field` is a struct conf_commands. */
extern const struct conf_key conf_command_keys[];
void conf_commands_read(
	struct conf_reader *reader, const struct config_setting_t *at, const struct conf_key *key, void *field);

/* Returns the command with this name, NULL if there is none. */
const struct conf_command *conf_commands_find(const struct conf_commands *commands, const char *name);

void conf_commands_free(struct conf_commands *commands);
