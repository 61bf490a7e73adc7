/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "program/command/command_parts.h"

/* Returns true for words that the user types, such as "on|off", and false for names, such as "MAC|auto". */
static bool is_words(const char *argument)
{
	for (const char *at = argument; *at; at++)
		if (isupper((unsigned char)*at) || *at == '#')
			return false;
	return strchr(argument, '|');
}

static bool find_word(const char *words, const char *value, uint32_t *index)
{
	for (*index = 0; *words; ++*index) {
		size_t size = strcspn(words, "|");

		if (strlen(value) == size && strncmp(words, value, size) == 0)
			return true;
		words += size + (words[size] == '|');
	}
	return false;
}

/* Appends "neither on nor off", "none of tcp, udp, icmp". */
static void explain_words(const char *words, char *fault)
{
	bool pair = strchr(words, '|') == strrchr(words, '|');

	for (const char *separator = pair ? "neither " : "none of "; *words; separator = pair ? " nor " : ", ") {
		size_t used = strlen(fault), size = strcspn(words, "|");

		snprintf(fault + used, COMMAND_FAULT_MAX - used, "%s%.*s", separator, (int)size, words);
		words += size + (words[size] == '|');
	}
}

bool command_read_values(const struct command_option *option, struct command_args *args, char fault[COMMAND_FAULT_MAX])
{
	for (int i = 0; option->name; option++, i++) {
		const char *value = args->options[i] ? args->options[i] : option->fallback;

		args->values[i] = value;
		if (!value || !option->argument)
			continue;
		snprintf(fault, COMMAND_FAULT_MAX, "--%s: '%.160s' is ", option->name, value);
		if (option->max && !text_number(value, option->min, option->max, &args->numbers[i])) {
			size_t used = strlen(fault);

			snprintf(fault + used, COMMAND_FAULT_MAX - used, "not a number%s from %" PRIu32 " to %" PRIu32,
				strcmp(option->argument, "SECONDS") == 0 ? " of seconds" : "", option->min, option->max);
			return false;
		}
		if (is_words(option->argument) && !find_word(option->argument, value, &args->numbers[i])) {
			explain_words(option->argument, fault);
			return false;
		}
	}
	return true;
}

const char *command_option_help(const struct command_option *option, char help[COMMAND_HELP_MAX])
{
	if (!option->fallback)
		return option->help;
	snprintf(help, COMMAND_HELP_MAX, "%s (default: %s)", option->help, option->fallback);
	return help;
}
