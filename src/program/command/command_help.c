/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "program/command/command_parts.h"

#define COLUMNS   80
#define WIDTH_MAX 30 /* of the names of options; longer ones have a line of their own */

#define OPTION_TEXT_MAX 96 /* bytes of an option and its argument, with NUL */

/* Returns how many characters of the text fit into a line of `room` characters. Breaks only at spaces. */
static int line_size(const char *text, int room)
{
	int size = (int)strlen(text), end = room;

	if (size <= room)
		return size;
	while (end > 0 && text[end] != ' ')
		end--;
	return end > 0 ? end : (int)strcspn(text, " ");
}

/* Prints a column of `width` characters and, beside it, the text in as many lines as it needs. */
static void print_entry(int width, const char *left, const char *text)
{
	if ((int)strlen(left) > width) {
		printf("  %s\n", left);
		left = "";
	}
	do {
		int size = line_size(text, COLUMNS - width - 3);

		printf("  %-*s %.*s\n", width, left, size, text);
		left = "";
		text += size;
		text += strspn(text, " ");
	} while (*text);
}

int command_help_program(const struct command_program *program)
{
	printf("usage: %s SUBCOMMAND [OPERANDS] [OPTIONS]\n\n", program->name);
	for (size_t i = 0; i < program->count; i++)
		print_entry(13, program->commands[i]->name, program->commands[i]->summary);
	printf("\nFor the options of a subcommand: %s SUBCOMMAND --help\n", program->name);
	printf("For the version: %s --version\n", program->name);
	if (program->note)
		puts(program->note);
	return COMMAND_OK;
}

/* Writes "--name ARGUMENT", after "-n, " if the option has a letter. Returns its length. */
static int format_option(
	const struct command *command, int index, const char *name, const char *argument, char text[OPTION_TEXT_MAX])
{
	char letter[8] = "";

	if (command->letters && command->letters[index] != ' ')
		snprintf(letter, sizeof(letter), "-%c, ", command->letters[index]);
	return snprintf(text, OPTION_TEXT_MAX, "%s--%s%s%s", letter, name, argument && *argument != '[' ? " " : "",
		argument ? argument : "");
}

/* Prints the text as a paragraph, with a full stop. */
static void print_sentence(const char *text)
{
	while (*text) {
		int size = line_size(text, COLUMNS - 1);

		printf("%.*s%s\n", size, text, text[size] ? "" : ".");
		text += size;
		text += strspn(text, " ");
	}
	putchar('\n');
}

int command_help(const struct command *command, const char *program)
{
	static const struct command_option common[] = {
		{"help", NULL, "print this help"}, {"version", NULL, "print the version"}};
	const struct command_option *options = command->options;
	char left[OPTION_TEXT_MAX], help[COMMAND_HELP_MAX];
	int width = 22, count = 0; /* fits the options of most subcommands */

	printf("usage: %s%s%s%s%s [OPTIONS]\n\n", program, command->name[0] ? " " : "", command->name,
		command->operands ? " " : "", command->operands ? command->operands : "");
	print_sentence(command->summary);
	for (; options[count].name; count++) {
		int length = format_option(command, count, options[count].name, options[count].argument, left);

		width = length >= width && length < WIDTH_MAX ? length + 1 : width;
	}
	for (int i = 0; i < count + 2; i++) {
		const struct command_option *option = i < count ? &options[i] : &common[i - count];

		format_option(command, i, option->name, option->argument, left);
		print_entry(width, left, command_option_help(option, help));
	}
	if (command->note)
		printf("\n%s\n", command->note);
	if (command->more)
		command->more();
	return COMMAND_OK;
}
