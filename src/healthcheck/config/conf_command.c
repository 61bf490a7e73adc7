/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/config/conf_command.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf_argv.h"
#include "health/settings.h"

static void read_name(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];

	if (!text || !check_command_name_is_valid(text))
		conf_error(reader, at, NULL, "%s is not %s", conf_value(at, CONFIG_TYPE_STRING, value),
			CHECK_COMMAND_NAME_FORM);
	else
		conf_read_string(reader, at, key, field);
}

static void read_arguments(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	static const struct conf_argv_place places[] = {{CONF_COMMAND_IP, "the address of the proxy"}, {0}};

	(void)key;
	conf_argv_read(reader, at, places, field);
}

static void read_command(struct conf_reader *reader, const config_setting_t *at, struct conf_commands *commands)
{
	static const struct conf_key keys[] = {
		{.name = "name",
			.read = read_name,
			.offset = offsetof(struct conf_command, name),
			.required = "the name by which tables call the command"},
		{.name = "command",
			.read = read_arguments,
			.offset = offsetof(struct conf_command, arguments),
			.required = "[\"/full/path\", \"ARGUMENT\"]"},
		{0},
	};
	struct conf_command *command = &commands->items[commands->count];

	conf_read_group(reader, at, keys, command);
	if (command->name && conf_commands_find(commands, command->name))
		conf_error(reader, at, "name", "'%s' is given twice; give each command its own name", command->name);
	commands->count++;
}

void conf_commands_read(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct conf_commands *commands = field;
	char value[CONF_VALUE_MAX];
	int count = config_setting_length(at);

	(void)key;
	if (!config_setting_is_list(at)) {
		conf_error(reader, at, NULL, "%s is not a list ( { name = \"...\"; command = [ ... ]; }, ... )",
			conf_value(at, CONFIG_TYPE_LIST, value));
		return;
	}
	commands->items = calloc((size_t)count + 1, sizeof(*commands->items));
	if (!commands->items) {
		conf_error(reader, at, NULL, "out of memory");
		return;
	}
	for (int i = 0; i < count; i++)
		read_command(reader, config_setting_get_elem(at, (unsigned)i), commands);
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
