/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion of command lines. The scripts in completion/ call PROGRAM --complete WORD..., where the last word is the
 * one to complete, and filter the lines that come back by its start. A line is "WORD" or "WORD<TAB>HELP". A line that
 * begins with a TAB stands for the files with this ending.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "program/command/command_parts.h"

#define NAME_MAX_SIZE 64

void command_offer(const char *word, const char *help)
{
	printf("%s%s%s\n", word, help ? "\t" : "", help ? help : "");
}

/* Offers the names of files with this ending, for instance ".json"; "" for all files. */
static void command_offer_files(const char *ending)
{
	printf("\t%s\n", ending);
}

static void offer_option(const char *name, const char *help)
{
	char word[NAME_MAX_SIZE];

	snprintf(word, sizeof(word), "--%s", name);
	command_offer(word, help);
}

static void offer_options(const struct command_option *options)
{
	char help[COMMAND_HELP_MAX];

	for (; options->name; options++)
		offer_option(options->name, command_option_help(options, help));
	offer_option("help", "print this help");
	offer_option("version", "print the version");
}

static void offer_endings(const char *const *endings)
{
	for (; *endings; endings++)
		command_offer_files(*endings);
}

/* Offers the words of "tcp|udp|icmp". Leaves out a word like MAC of "MAC|auto", which stands for another text. */
static void offer_words(const char *text)
{
	for (size_t size; *text; text += size + (text[size] == '|')) {
		size = strcspn(text, "|");
		if (!isupper((unsigned char)*text) && *text != '#')
			printf("%.*s\n", (int)size, text);
	}
}

/* Offers the values that the name of an argument or operand in --help tells. Returns false if it tells none. */
static bool offer_by_name(const char *name)
{
	static const char *const tables[] = {".json", ".bin", NULL}, *const captures[] = {".pcap", ".pcapng", NULL};
	const char *dot = strrchr(name, '.');

	if (strchr(name, '|') || islower((unsigned char)name[0])) /* "tcp|udp", "status" */
		offer_words(name);
	else if (dot && strcmp(dot, ".pcap") == 0)
		offer_endings(captures);
	else if (dot)
		command_offer_files(dot);
	else if (strcmp(name, "TABLE") == 0 || strcmp(name, "CURRENT") == 0)
		offer_endings(tables);
	else if (strcmp(name, "DIR") == 0)
		command_offer_files("/"); /* folders only */
	else if (strcmp(name, "FILE") == 0 || strcmp(name, "DST") == 0)
		command_offer_files("");
	else
		return false;
	return true;
}

static void offer_value(const struct command_option *option, command_values *values, const struct command_args *args)
{
	char name[NAME_MAX_SIZE];

	snprintf(name, sizeof(name), "--%s", option->name);
	if (strncmp(option->name, "config", 6) == 0)
		command_offer_files(".conf");
	else if (strcmp(option->name, "forwarding-table") == 0)
		offer_by_name("TABLE");
	else if ((strcmp(option->name, "table") == 0 || !offer_by_name(option->argument)) && values)
		values(name, args);
}

/* Copies the name of operand `index` from "TABLE IN.pcap [OUT.pcap]". The last one may repeat: "FILE...".
 * False: none. */
static bool operand_name(const char *operands, int index, char name[NAME_MAX_SIZE])
{
	size_t size = 0;

	for (; operands && *operands; operands += size) {
		operands += strspn(operands, " [");
		size = strcspn(operands, " ]");
		if (size > 3 && strncmp(operands + size - 3, "...", 3) == 0) {
			snprintf(name, NAME_MAX_SIZE, "%.*s", (int)size - 3, operands);
			return true;
		}
		if (size && index-- == 0) {
			snprintf(name, NAME_MAX_SIZE, "%.*s", (int)size, operands);
			return true;
		}
		size += strspn(operands + size, " ]");
	}
	return false;
}

/* Finds the option that `word` names, as --name or as -n. NULL: none. */
static const struct command_option *find_option(const struct command *command, const char *word)
{
	const struct command_option *option = command->options;

	for (int i = 0; option->name; option++, i++) {
		if (word[1] == '-' && strcmp(option->name, word + 2) == 0)
			return option;
		if (command->letters && word[1] == command->letters[i] && word[2] == '\0')
			return option;
	}
	return NULL;
}

/* The state of a walk over the words. */
struct words {
	char **at;
	int left; /* of the words, with the last one */
	bool only_operands; /* after "--" */
};

/* Takes the next word before the last one. Returns the option whose value the last word is; NULL: none. */
static const struct command_option *take(const struct command *command, struct words *words, struct command_args *args)
{
	const struct command_option *option;
	char *word = *words->at;

	words->at++;
	words->left--;
	if (words->only_operands || word[0] != '-' || word[1] == '\0') {
		args->operands[args->count++] = word;
		return NULL;
	}
	words->only_operands = strcmp(word, "--") == 0;
	option = find_option(command, word);
	if (!option || !option->argument || *option->argument == '[')
		return NULL;
	if (words->left > 1 && strcmp(*words->at, "=") == 0) { /* bash splits --name=value */
		words->at++;
		words->left--;
	}
	if (words->left == 1)
		return option;
	args->options[option - command->options] = *words->at;
	words->at++;
	words->left--;
	return NULL;
}

int command_complete(const struct command *command, command_values *values, int count, char **all)
{
	struct words words = {.at = all, .left = count};
	const struct command_option *option = NULL;
	/* Operands move to the front of the words, which were read already. */
	struct command_args args = {.operands = all};
	char name[NAME_MAX_SIZE];

	while (words.left > 1 && !option)
		option = take(command, &words, &args);
	if (words.left < 1)
		return COMMAND_OK;
	if (option)
		offer_value(option, values, &args);
	else if (words.at[0][0] == '-' && !words.only_operands)
		offer_options(command->options);
	else if (operand_name(command->operands, args.count, name) && !offer_by_name(name) && values)
		values(name, &args);
	return COMMAND_OK;
}

int command_complete_program(const struct command_program *program, int count, char **words)
{
	if (count == 1 && words[0][0] == '-')
		offer_options(&(struct command_option){0});
	for (size_t i = 0; i < program->count; i++) {
		const struct command *command = program->commands[i];

		if (count == 1 && words[0][0] != '-')
			command_offer(command->name, command->summary);
		else if (count > 1 && strcmp(command->name, words[0]) == 0)
			return command_complete(command, program->values, count - 1, words + 1);
	}
	return COMMAND_OK;
}
