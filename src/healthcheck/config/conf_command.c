/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/config/conf_command.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf_argv.h"
#include "health/settings.h"

static const char *name_fault(const char *name)
{
	return check_command_name_is_valid(name) ? NULL : "is not " CHECK_COMMAND_NAME_FORM;
}

static const struct conf_argv_place places[] = {{CONF_COMMAND_IP, "the address of the proxy"}, {0}};

const struct conf_key conf_command_keys[] = {
	{"name", conf_read_string, .offset = offsetof(struct conf_command, name), .fault = name_fault,
		.required = "the name by which tables call the command"},
	{"command", conf_argv_read, .offset = offsetof(struct conf_command, arguments), .places = places,
		.required = "[\"/full/path\", \"ARGUMENT\"]"},
	{0},
};

void conf_commands_read(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct conf_commands *commands = field;
	unsigned count = conf_list_length(reader, at, key);

	commands->items = conf_allocate(reader, at, count, sizeof(*commands->items));
	for (; commands->items && commands->count < count; commands->count++) {
		const config_setting_t *group = config_setting_get_elem(at, (unsigned)commands->count);
		struct conf_command *command = &commands->items[commands->count];

		conf_read_group(reader, group, key->keys, command);
		if (command->name && conf_commands_find(commands, command->name))
			conf_error(reader, group, "name", "'%s' is given twice; give each command its own name",
				command->name);
	}
}

const struct conf_command *conf_commands_find(const struct conf_commands *commands, const char *name)
{
	for (size_t i = 0; i < commands->count; i++)
		if (commands->items[i].name && strcmp(commands->items[i].name, name) == 0)
			return &commands->items[i];
	return NULL;
}

void conf_commands_free(struct conf_commands *commands)
{
	for (size_t i = 0; i < commands->count; i++) {
		conf_argv_free(commands->items[i].arguments);
		free(commands->items[i].name);
	}
	free(commands->items);
	*commands = (struct conf_commands){0};
}
