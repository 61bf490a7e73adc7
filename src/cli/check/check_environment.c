/* SPDX-License-Identifier: BSD-3-Clause */
/* The syntax is that of EnvironmentFile= in systemd.exec(5). */
#include "cli/check/check_environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/file.h"
#include "redirect/attach_options.h"

#define MAX_FILE_SIZE (1 << 20) /* bytes */
#define PREFIX        "GLB_"
#define BLANKS        " \t\r"

/* An assignment in the file. The strings are cut out of its text. */
struct assignment {
	struct faults *faults;
	environment_each *each; /* gets the assignments instead of the checks; NULL: check them */
	void *context;
	int line;
	char *name, *value;
};

static void fault(const struct assignment *at, bool warning, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void fault(const struct assignment *at, bool warning, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	faults_add(at->faults, warning, &(struct faults_place){.line = at->line, .where = at->name}, format, args);
	va_end(args);
}

static void check_path(const struct assignment *at)
{
	if (at->value[0] != '/')
		fault(at, false, "'%s' is not a full path, but the unit runs in /", at->value);
	else if (access(at->value, R_OK) < 0)
		fault(at, true, "'%s' cannot be read: %s", at->value, strerror(errno));
}

static void check_eal(const struct assignment *at)
{
	char *rest = NULL;

	for (char *word = strtok_r(at->value, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		if (strcmp(word, "--") == 0)
			fault(at, false, "'--' ends the EAL options; the unit adds it");
		else if (strncmp(word, "--config-file", 13) == 0)
			fault(at, false, "'%s' is not an EAL option; set GLB_DIRECTOR_CONFIG_FILE", word);
		else if (strncmp(word, "--forwarding-table", 18) == 0)
			fault(at, false, "'%s' is not an EAL option; set GLB_DIRECTOR_FORWARDING_TABLE", word);
		else if (strncmp(word, "--file-prefix", 13) == 0)
			fault(at, true, "'%s': the unit reloads the director with the prefix rte", word);
}

/* Returns the index of the option that the word names, perhaps by its first letters, as getopt_long() does;
 * -1: none. */
static int find_option(const char *word, size_t size)
{
	int found = -1;

	for (int i = 0; attach_options[i].name; i++) {
		if (strncmp(attach_options[i].name, word, size) != 0)
			continue;
		if (attach_options[i].name[size] == '\0')
			return i;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

static void check_redirect(const struct assignment *at)
{
	struct redirect_settings settings;
	char *rest = NULL, error[COMMAND_FAULT_MAX];
	struct command_args args = {0};
	bool generic;

	for (char *word = strtok_r(at->value, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		size_t size = strcspn(word, "=");
		int option = size > 2 && strncmp(word, "--", 2) == 0 ? find_option(word + 2, size - 2) : -1;
		bool needs = option >= 0 && attach_options[option].argument;

		if (option < 0 || (!needs && word[size])) {
			fault(at, false, "'%s' is not an option of glb-redirect attach", word);
			return;
		}
		args.options[option] = !needs ? "" : word[size] ? word + size + 1 : strtok_r(NULL, " \t", &rest);
		if (!args.options[option]) {
			fault(at, false, "%s needs an argument", word);
			return;
		}
	}
	if (!command_read_values(attach_options, &args, error) || !attach_options_read(&args, &settings, &generic, error))
		fault(at, false, "%s", error);
}

static const struct variable {
	const char *name;
	void (*check)(const struct assignment *at);
} variables[] = {
	{"GLB_DIRECTOR_EAL_ARGS", check_eal},
	{"GLB_DIRECTOR_CONFIG_FILE", check_path},
	{"GLB_DIRECTOR_FORWARDING_TABLE", check_path},
	{"GLB_REDIRECT_OPTIONS", check_redirect},
};

#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

static void check_assignment(const struct assignment *at, int lines[VARIABLES])
{
	if (at->each) {
		at->each(at->context, at->name, at->value);
		return;
	}
	for (size_t i = 0; i < VARIABLES; i++) {
		if (strcmp(variables[i].name, at->name) != 0)
			continue;
		if (lines[i])
			fault(at, true, "set before, in line %d, which has no effect", lines[i]);
		lines[i] = at->line;
		variables[i].check(at);
		return;
	}
	/* Variables of other programs, such as libraries, are allowed. */
	if (strncmp(at->name, PREFIX, strlen(PREFIX)) == 0)
		fault(at, false, "unknown variable; known here: %s, %s, %s, %s", variables[0].name, variables[1].name,
			variables[2].name, variables[3].name);
}

/* Cuts the value that begins at `text`, without quotes and escapes, and returns the rest. Adds the lines that it has
 * after the first. NULL: a quote is not closed. */
static char *cut_value(char *text, char **value, int *lines)
{
	char *to = text, quote = '\0';

	*value = text;
	for (; *text && (quote || *text != '\n'); text++) {
		bool escape = *text == '\\' && quote != '\'' && text[1];

		text += escape;
		*lines += *text == '\n';
		if (escape && *text == '\n')
			continue; /* the value goes on in the next line */
		if (!escape && *text == quote)
			quote = '\0';
		else if (!escape && !quote && (*text == '"' || *text == '\''))
			quote = *text;
		else
			*to++ = *text;
	}
	text += *text == '\n';
	while (!quote && to > *value && strchr(BLANKS, to[-1]))
		to--;
	*to = '\0';
	return quote ? NULL : text;
}

static bool is_name(const char *text)
{
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	while (isalnum((unsigned char)*text) || *text == '_')
		text++;
	return *text == '\0';
}

/* Cuts the name before the '='. Returns the text after it. NULL: there is an error, and *end is the next line. */
static char *cut_name(char *text, struct assignment *at, char **end)
{
	size_t size = strcspn(text, "=\n");
	char *equals = text + size, *last = equals;

	*end = text + strcspn(text, "\n");
	*end += **end == '\n';
	while (last > text && strchr(BLANKS, last[-1]))
		last--;
	at->name = NULL;
	if (*equals != '=') {
		fault(at, false, "'%.*s' is not an assignment NAME=VALUE", (int)(last - text), text);
		return NULL;
	}
	*last = '\0';
	if (!is_name(text)) {
		fault(at, false, "'%s' is not the name of a variable, so systemd ignores this line%s", text,
			strncmp(text, "export ", 7) == 0 ? "; remove export" : "");
		return NULL;
	}
	at->name = text;
	return equals + 1;
}

/* Checks the line at `from`, perhaps with its continuations. Returns the next one; NULL: the rest cannot be read. */
static char *check_line(char *from, struct assignment *at, int lines[VARIABLES])
{
	char *value, *next;
	int more = 0;

	value = cut_name(from, at, &next);
	if (!value)
		return next;
	next = cut_value(value + strspn(value, BLANKS), &at->value, &more);
	if (next)
		check_assignment(at, lines);
	else
		fault(at, false, "its value has no closing quote");
	at->line += more;
	return next;
}

/* Returns the number of lines with more than a comment. */
static int check_lines(char *text, struct assignment *at, int lines[VARIABLES])
{
	int others = 0;

	for (char *from = text; from && *from; at->line++) {
		from += strspn(from, BLANKS);
		if (!strchr("#;\n", *from)) {
			from = check_line(from, at, lines);
			others++;
			continue;
		}
		from += strcspn(from, "\n");
		from += *from == '\n';
	}
	return others;
}

static void check_text(char *text, struct faults *faults)
{
	struct assignment at = {.faults = faults, .line = 1};
	int lines[VARIABLES] = {0}, set = 0, others = check_lines(text, &at, lines);

	for (size_t i = 0; i < VARIABLES; i++)
		set += lines[i] > 0;
	if (others && !set && !faults->errors)
		faults_warn(faults, NULL, "sets no variable that our units know");
}

/* Returns the text of the file, which the caller frees; NULL with an error in faults. */
static char *read_text(const char *path, struct faults *faults)
{
	char *text;
	size_t size;

	if (file_read(path, "an environment file", MAX_FILE_SIZE, &text, &size, faults) < 0)
		return NULL;
	if (strlen(text) == size)
		return text;
	faults_error(faults, NULL, "cannot be read: it has a NUL byte, so it is not a text file");
	free(text);
	return NULL;
}

void check_environment(const char *path, struct faults *faults)
{
	char *text = read_text(path, faults);

	if (text)
		check_text(text, faults);
	free(text);
}

void check_environment_read(const char *path, environment_each *each, void *context, struct faults *faults)
{
	struct assignment at = {.faults = faults, .line = 1, .each = each, .context = context};
	char *text = read_text(path, faults);

	if (text)
		check_lines(text, &at, NULL);
	free(text);
}

bool check_environment_is(const char *text)
{
	static const char *const prefixes[] = {"GLB_DIRECTOR_", "GLB_REDIRECT_"};

	while (*text) {
		text += strspn(text, BLANKS);
		if (strncmp(text, "export ", 7) == 0)
			text += 7;
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
				return true;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}
