/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/config/conf_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf_reader.h"
#include "healthcheck/config/settings.h"

#define ARGUMENTS_MAX 64

/* Returns true if every user may replace the files in the folder of this path. */
static bool is_in_open_folder(const char *path)
{
	char folder[PATH_MAX], *end;
	struct stat found;

	snprintf(folder, sizeof(folder), "%s", path);
	end = strrchr(folder, '/');
	if (!end)
		return true;
	end[end == folder] = '\0';
	return stat(folder, &found) < 0 || ((found.st_mode & S_IWOTH) && !(found.st_mode & S_ISVTX));
}

const char *conf_command_fault(const char *path, char buf[CONF_COMMAND_FAULT_MAX])
{
	char real[PATH_MAX];
	struct stat file;

	if (path[0] != '/')
		return "is not a full path, which begins with '/'";
	if (!realpath(path, real) || stat(real, &file) < 0 || faccessat(AT_FDCWD, real, X_OK, AT_EACCESS) < 0) {
		snprintf(buf, CONF_COMMAND_FAULT_MAX, "cannot be run: %s", strerror(errno));
		return buf;
	}
	if (!S_ISREG(file.st_mode))
		return "cannot be run: it is not a file";
	if (file.st_mode & S_IWOTH)
		return "can be changed by every user: chmod o-w";
	if (is_in_open_folder(path) || is_in_open_folder(real))
		return "can be replaced by every user: chmod o-w its folder";
	return NULL;
}

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

/* Returns true for an argument like "{host}", which somebody expects to be replaced. */
static bool is_unknown_placeholder(const char *text)
{
	size_t size = strlen(text);

	return size > 2 && text[0] == '{' && text[size - 1] == '}' && strcmp(text, CONF_COMMAND_IP) != 0 &&
	       strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") == size - 2;
}

static void read_argument(struct conf_reader *reader, const config_setting_t *at, char **argument)
{
	const char *text = config_setting_get_string(at), *fault;
	char value[CONF_VALUE_MAX], buf[CONF_COMMAND_FAULT_MAX];
	bool first = config_setting_index(at) == 0;

	if (!text)
		conf_error(reader, at, NULL, "%s is not a string", conf_value(at, CONFIG_TYPE_STRING, value));
	else if (first && (fault = conf_command_fault(text, buf)))
		conf_error(reader, at, NULL, "%s %s", conf_value(at, CONFIG_TYPE_STRING, value), fault);
	else if (is_unknown_placeholder(text))
		conf_error(reader, at, NULL, "%s is not known; " CONF_COMMAND_IP " stands for the address of the proxy",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else if (!(*argument = strdup(text)))
		conf_error(reader, at, NULL, "out of memory");
}

static void read_arguments(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	int count = config_setting_is_array(at) || config_setting_is_list(at) ? config_setting_length(at) : 0;
	char **arguments;

	(void)key;
	if (count == 0 || count > ARGUMENTS_MAX) {
		conf_error(reader, at, NULL, "is not a list of 1 to %d strings: [\"/full/path\", \"ARGUMENT\"]",
			ARGUMENTS_MAX);
		return;
	}
	arguments = calloc((size_t)count + 1, sizeof(*arguments));
	*(char ***)field = arguments;
	if (!arguments)
		conf_error(reader, at, NULL, "out of memory");
	for (int i = 0; arguments && i < count; i++)
		read_argument(reader, config_setting_get_elem(at, (unsigned)i), &arguments[i]);
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
		for (char **argument = commands->items[i].arguments; argument && *argument; argument++)
			free(*argument);
		free(commands->items[i].arguments);
		free(commands->items[i].name);
	}
	free(commands->items);
	*commands = (struct conf_commands){0};
}
