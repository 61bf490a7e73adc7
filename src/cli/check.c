/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "table/file/json_text.h"
#include "table/file/table_load.h"
#include "table/table_lint.h"

enum { JSON };

static const struct command_option options[] = {
	[JSON] = {"json", NULL, "print the faults as JSON"},
	{0},
};

enum kind {
	KIND_BINARY,
	KIND_TABLE,
	KIND_CONF,
};

static const char *const kind_names[] = {"binary table", "JSON table", "director.conf"};

/*
 * Guesses the kind of a file: by the magic of binary tables, then by the file's name, then by the first
 * character. A file that cannot be read gets an error later.
 */
static enum kind detect(const char *path)
{
	const char *dot = strrchr(path, '.');
	char head[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait for the writer of a FIFO */
	ssize_t size = fd >= 0 ? read(fd, head, sizeof(head) - 1) : 0;

	if (fd >= 0)
		close(fd);
	if (size >= 4 && memcmp(head, "GLBD", 4) == 0)
		return KIND_BINARY;
	if (dot && strcmp(dot, ".conf") == 0)
		return KIND_CONF;
	if (dot && strcmp(dot, ".json") == 0)
		return KIND_TABLE;
	if (dot && strcmp(dot, ".bin") == 0)
		return KIND_BINARY;
	/* A director.conf starts with the name of a setting or with a comment of libconfig. */
	head[strcspn(head, "\n")] = '\0';
	for (char *c = head; *c; c++)
		if (!isspace((unsigned char)*c))
			return isalpha((unsigned char)*c) || *c == '#' || *c == '/' ? KIND_CONF : KIND_TABLE;
	return KIND_TABLE;
}

static void check_file(const char *path, enum kind kind, struct faults *faults)
{
	struct table_set set = {0};
	struct conf conf;

	if (kind == KIND_CONF)
		conf_read(path, &conf, faults);
	else if (kind == KIND_BINARY && table_load_binary(path, &set, NULL, faults) == 0)
		table_lint(&set, faults);
	else if (kind == KIND_TABLE)
		table_load_json(path, &set, faults);
	if (kind != KIND_CONF)
		table_set_free(&set);
}

static void append(void *array, bool warning, const char *text)
{
	(void)warning;
	json_array_append_new(array, json_text(text));
}

static json_t *texts(const struct faults *faults, enum faults_kinds kinds)
{
	json_t *array = json_array();

	faults_report(faults, kinds, append, array);
	return array;
}

static json_t *describe(const char *path, enum kind kind, const struct faults *faults)
{
	return json_pack("{s:o, s:s, s:o, s:o}", "file", json_text(path), "kind", kind_names[kind], "errors",
		texts(faults, FAULTS_ERRORS), "warnings", texts(faults, FAULTS_WARNINGS));
}

static int run(const struct command_args *args)
{
	json_t *files = json_array();
	int worst = COMMAND_OK;

	for (int i = 0; i < args->count; i++) {
		const char *path = args->operands[i];
		struct faults faults = {.file = path, .strict = true};
		enum kind kind = detect(path);

		check_file(path, kind, &faults);
		if (faults.errors)
			worst = CLI_CHECK_ERRORS;
		else if (faults.count && worst == COMMAND_OK)
			worst = CLI_CHECK_WARNINGS;
		if (args->options[JSON])
			json_array_append_new(files, describe(path, kind, &faults));
		else if (faults.count || faults.errors)
			faults_print(&faults, stdout);
		else
			printf("%s: valid %s\n", path, kind_names[kind]);
		faults_clear(&faults);
	}
	if (!args->options[JSON])
		json_decref(files);
	else if (cli_print_json(json_pack("{s:o}", "files", files)) != COMMAND_OK)
		return CLI_CHECK_ERRORS;
	/*
	 * If writing to stdout failed, the user saw no errors, so the exit code may not be that for warnings.
	 * command_main() prints the reason.
	 */
	return fflush(stdout) != 0 || ferror(stdout) ? CLI_CHECK_ERRORS : worst;
}

const struct command check_command = {
	.name = "check",
	.run = run,
	.operands = "FILE...",
	.min_operands = 1,
	.max_operands = COMMAND_ANY_OPERANDS,
	.summary = "Validate JSON tables, binary tables and director.conf files",
	.options = options,
};
