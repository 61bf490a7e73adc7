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

/* Returns false, with an error: the text has a "{place}" that is not one of `places`. */
static bool check_places(struct conf_reader *reader, const config_setting_t *at, const struct conf_argv_place *places)
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
	char buf[EXECUTABLE_FAULT_MAX];
	bool first = config_setting_index(at) == 0;

	if (!text)
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "is not a string");
	else if (first && (fault = executable_fault(text, buf)))
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "%s", fault);
	else if (check_places(reader, at, places) && !(*argument = strdup(text)))
		conf_error(reader, at, NULL, "out of memory");
}

void conf_argv_read(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	int count = conf_is_list(at) ? config_setting_length(at) : 0;
	char **next;

	if (count == 0 || count > ARGUMENTS_MAX) {
		conf_error(reader, at, NULL, "is not a list of 1 to %d strings: [\"/full/path\", \"ARGUMENT\"]",
			ARGUMENTS_MAX);
		return;
	}
	*(char ***)field = next = conf_allocate(reader, at, (unsigned)count, sizeof(*next));
	for (int i = 0; next && i < count; i++) {
		read_argument(reader, config_setting_get_elem(at, (unsigned)i), key->places, next);
		next += *next != NULL; /* conf_argv_free() ends at NULL */
	}
}

void conf_argv_read_line(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	size_t errors = reader->faults->errors;

	conf_read_string(reader, at, key, field);
	if (reader->faults->errors == errors)
		check_places(reader, at, key->places);
}

void conf_argv_free(char **arguments)
{
	for (char **argument = arguments; argument && *argument; argument++)
		free(*argument);
	free(arguments);
}
