/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/conf_argv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/executable.h"

#define ARGUMENTS_MAX 64

/* Returns the size of a text like "{host}" at the start of `text`, or 0. Somebody expects such a text to be
 * replaced. */
static size_t place_size(const char *text)
{
	size_t size = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");

	return text[0] == '{' && size && text[1 + size] == '}' ? size + 2 : 0;
}

static bool is_known(const struct conf_argv_place *places, const char *text, size_t size)
{
	for (; places->text; places++)
		if (strlen(places->text) == size && memcmp(places->text, text, size) == 0)
			return true;
	return false;
}

bool conf_argv_check_places(struct conf_reader *reader, const config_setting_t *at, const struct conf_argv_place *places)
{
	char known[512] = "";

	for (const struct conf_argv_place *place = places; place->text; place++) {
		size_t used = strlen(known);

		snprintf(known + used, sizeof(known) - used, "%s%s stands for %s", used ? ", " : "", place->text,
			place->meaning);
	}
	for (const char *text = config_setting_get_string(at); (text = strchr(text, '{')); text++) {
		size_t size = place_size(text);

		if (!size || is_known(places, text, size))
			continue;
		if (*known)
			conf_error(reader, at, NULL, "'%.*s' is not known; %s", (int)size, text, known);
		else
			conf_error(reader, at, NULL, "'%.*s' is not replaced in this command", (int)size, text);
		return false;
	}
	return true;
}

static void read_argument(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_argv_place *places, char **argument)
{
	const char *text = config_setting_get_string(at), *fault;
	char value[CONF_VALUE_MAX], buf[EXECUTABLE_FAULT_MAX];
	bool first = config_setting_index(at) == 0;

	if (!text)
		conf_error(reader, at, NULL, "%s is not a string", conf_value(at, CONFIG_TYPE_STRING, value));
	else if (first && (fault = executable_fault(text, buf)))
		conf_error(reader, at, NULL, "%s %s", conf_value(at, CONFIG_TYPE_STRING, value), fault);
	else if (conf_argv_check_places(reader, at, places) && !(*argument = strdup(text)))
		conf_error(reader, at, NULL, "out of memory");
}

void conf_argv_read(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_argv_place *places, char ***arguments)
{
	char **next;
	int count = config_setting_is_array(at) || config_setting_is_list(at) ? config_setting_length(at) : 0;

	if (count == 0 || count > ARGUMENTS_MAX) {
		conf_error(reader, at, NULL, "is not a list of 1 to %d strings: [\"/full/path\", \"ARGUMENT\"]",
			ARGUMENTS_MAX);
		return;
	}
	*arguments = calloc((size_t)count + 1, sizeof(**arguments));
	if (!*arguments)
		conf_error(reader, at, NULL, "out of memory");
	next = *arguments;
	for (int i = 0; next && i < count; i++) {
		read_argument(reader, config_setting_get_elem(at, (unsigned)i), places, next);
		next += *next != NULL; /* conf_argv_free() ends at NULL */
	}
}

void conf_argv_free(char **arguments)
{
	for (char **argument = arguments; argument && *argument; argument++)
		free(*argument);
	free(arguments);
}
