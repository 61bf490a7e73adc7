/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bifurcate/vf/vf_conf.h"
#include "cli/check/check_environment.h"
#include "cli/check/check_healthcheck.h"
#include "cli/check/check_kind.h"
#include "cli/cli.h"
#include "cli/speed.h"
#include "common/text.h"
#include "director/conf/conf_tables.h"
#include "fleet/fleet_conf.h"
#include "packet/slow.h"
#include "program/installed.h"
#include "redirect/config/redirect_conf.h"
#include "table/file/json/json_text.h"
#include "table/file/table_load.h"
#include "table/table_lint.h"

enum { KIND, JSON };

static const struct command_option options[] = {
	[KIND] = {"kind", CHECK_KIND_WORDS, "treat all files as this kind"},
	[JSON] = {"json", NULL, "print the faults as JSON"},
	{0},
};

/* A file and what was found in it. */
struct subject {
	const char *name; /* as the user gave it; "stdin" for - */
	char path[64]; /* of the copy of stdin; "": open the file by its name */
	enum check_kind kind;
	bool was_read;
	struct table_set set; /* of a valid table */
	struct conf conf; /* of a valid director.conf */
	struct vf_conf vf; /* of a valid bifurcate.conf */
	struct faults faults;
};

static const char *path_of(const struct subject *subject)
{
	return *subject->path ? subject->path : subject->name;
}

/* Copies stdin to memory, because the readers want a regular file. The copy stays open until the program ends. */
static int copy_stdin(struct subject *subject)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC);
	size_t total = 0;
	char block[65536];
	ssize_t got = 1;

	while (fd >= 0 && got > 0 && total <= TABLE_LOAD_MAX_JSON) {
		got = read(STDIN_FILENO, block, sizeof(block));
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0 && write(fd, block, (size_t)got) != got)
			got = -1;
		else if (got > 0)
			total += (size_t)got;
	}
	if (fd < 0 || got < 0) {
		faults_error(&subject->faults, NULL, "cannot be read: %s", strerror(errno));
		return -1;
	}
	if (total > TABLE_LOAD_MAX_JSON) {
		faults_error(&subject->faults, NULL,
			"has more than %zu bytes; from stdin, a table has at most that: give the name of the file",
			TABLE_LOAD_MAX_JSON);
		return -1;
	}
	snprintf(subject->path, sizeof(subject->path), "/proc/self/fd/%d", fd);
	return 0;
}

static bool is_table(const struct subject *subject)
{
	return subject->kind == CHECK_JSON_TABLE || subject->kind == CHECK_BINARY_TABLE;
}

static void check_table(struct subject *subject)
{
	int error;

	if (subject->kind == CHECK_BINARY_TABLE)
		error = table_load_binary(path_of(subject), &subject->set, NULL, &subject->faults);
	else
		error = table_load_json(path_of(subject), &subject->set, &subject->faults);
	if (error == 0 && subject->kind == CHECK_BINARY_TABLE)
		table_lint(&subject->set, &subject->faults);
	if (error == 0)
		speed_warn(&subject->set, &subject->faults);
}

static void check_redirect(const char *path, struct faults *faults)
{
	struct redirect_conf conf;

	redirect_conf_read(path, &conf, faults);
	redirect_conf_free(&conf);
}

static void check_fleet(const char *path, struct faults *faults)
{
	struct fleet_conf conf;

	fleet_conf_read(path, &conf, faults);
	fleet_conf_free(&conf);
}

static void check_content(struct subject *subject)
{
	switch (subject->kind) {
	case CHECK_DIRECTOR_CONF:
		conf_read(path_of(subject), &subject->conf, &subject->faults);
		break;
	case CHECK_HEALTHCHECK_CONF:
		check_healthcheck(path_of(subject), &subject->faults);
		break;
	case CHECK_REDIRECT_CONF:
		check_redirect(path_of(subject), &subject->faults);
		break;
	case CHECK_BIFURCATE_CONF:
		vf_conf_read(path_of(subject), &subject->vf, &subject->faults);
		break;
	case CHECK_FLEET_CONF:
		check_fleet(path_of(subject), &subject->faults);
		break;
	case CHECK_ENVIRONMENT:
		check_environment(path_of(subject), &subject->faults);
		break;
	case CHECK_OTHER:
		faults_error(&subject->faults, NULL, "%s", check_kind_advice(path_of(subject)));
		break;
	default:
		check_table(subject);
	}
}

static void check(struct subject *subject, const char *operand, const enum check_kind *kind)
{
	bool is_stdin = strcmp(operand, "-") == 0;

	*subject = (struct subject){.name = is_stdin ? "stdin" : operand, .kind = kind ? *kind : CHECK_JSON_TABLE};
	subject->faults = (struct faults){.file = subject->name, .thorough = true};
	if (is_stdin && copy_stdin(subject) < 0)
		return;
	if (!kind)
		subject->kind = check_kind_of(path_of(subject), subject->name);
	subject->was_read = access(path_of(subject), R_OK) == 0;
	check_content(subject);
}

/* Returns the conf of the only director.conf, if it is valid. */
static const struct conf *find_conf(const struct subject *subjects, size_t count)
{
	const struct subject *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (subjects[i].kind != CHECK_DIRECTOR_CONF)
			continue;
		if (found)
			return NULL;
		found = &subjects[i];
	}
	return found && !found->faults.errors ? &found->conf : NULL;
}

/* Adds the faults of tables and health checks together with director.conf, if exactly one is among the files. */
static void check_together(struct subject *subjects, size_t count)
{
	const struct conf *conf = find_conf(subjects, count);

	for (size_t i = 0; conf && i < count; i++) {
		struct subject *subject = &subjects[i];

		if (subject->kind == CHECK_HEALTHCHECK_CONF && conf_outbound_source(conf, NETADDR_V6).family)
			check_healthcheck_checksum(path_of(subject), conf->steering.udp_checksum, &subject->faults);
		if (!is_table(subject) || subject->faults.errors)
			continue;
		conf_tables_check(conf, &subject->set, &subject->faults);
		conf_tables_lint(conf, &subject->set, &subject->faults);
		if (conf->steering.alt_hash_fields)
			slow_warn_alt(&subject->set, &subject->faults);
	}
}

/* Adds a fault for each two VFs of which only one can work. */
static void check_vfs(struct subject *subjects, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++) {
			const char *key = vf_conf_clash(&subjects[i].vf, &subjects[j].vf);

			if (key && strcmp(subjects[i].name, subjects[j].name) != 0)
				faults_error(&subjects[i].faults, key,
					"%s has the same: a PF has one configuration, and each VF has a MAC of its own",
					subjects[j].name);
		}
}

static void append(void *array, bool, const char *text)
{
	json_array_append_new(array, json_text(text));
}

static json_t *texts(const struct faults *faults, enum faults_kinds kinds)
{
	json_t *array = json_array();

	faults_report(faults, kinds, append, array);
	return array;
}

static json_t *describe(const struct subject *subject)
{
	return json_pack("{s:o, s:s, s:o, s:o}", "file", json_text(subject->name), "kind", check_kind_name(subject->kind),
		"errors", texts(&subject->faults, FAULTS_ERRORS), "warnings", texts(&subject->faults, FAULTS_WARNINGS));
}

static void print_count(const char *separator, size_t count, const char *what)
{
	printf("%s%zu %s%s", separator, count, what, text_plural(count));
}

static void print_sizes(const struct table_set *set)
{
	struct table_totals totals = table_set_totals(set);

	print_count(", ", set->count, "table");
	print_count(", ", totals.binds, "bind");
	print_count(", ", totals.backends, "backend");
}

/* The faults go to stderr. One line on stdout says what was recognised and how it is. */
static void print(struct subject *subject)
{
	size_t errors = subject->faults.errors, warnings = 0;

	for (size_t i = 0; i < subject->faults.count; i++)
		warnings += subject->faults.items[i].warning;
	cli_print_faults(&subject->faults, FAULTS_ALL);
	if (!subject->was_read) {
		printf("%s: not checked\n", subject->name);
		return;
	}
	printf("%s: %s %s", subject->name, errors ? "invalid" : "valid", check_kind_name(subject->kind));
	if (!errors && is_table(subject))
		print_sizes(&subject->set);
	if (errors)
		print_count(", ", errors, "error");
	if (warnings)
		print_count(", ", warnings, "warning");
	putchar('\n');
}

/* The results of all files. */
struct results {
	json_t *files; /* NULL: print text */
	int code;
};

static void report(struct results *results, struct subject *subject)
{
	if (subject->faults.errors)
		results->code = CLI_CHECK_ERRORS;
	else if (subject->faults.count && results->code == COMMAND_OK)
		results->code = CLI_CHECK_WARNINGS;
	if (results->files)
		json_array_append_new(results->files, describe(subject));
	else
		print(subject);
	faults_clear(&subject->faults);
	table_set_free(&subject->set);
	vf_conf_free(&subject->vf);
}

static void check_all(struct results *results, char *const *names, size_t count, const enum check_kind *kind)
{
	struct subject *subjects = calloc(count + 1, sizeof(*subjects));

	if (!subjects) {
		results->code = command_error("out of memory");
		return;
	}
	for (size_t i = 0; i < count; i++)
		check(&subjects[i], names[i], kind);
	check_together(subjects, count);
	check_vfs(subjects, count);
	for (size_t i = 0; i < count; i++)
		report(results, &subjects[i]);
	free(subjects);
}

/* Checks the files of the installation that exist. */
static void check_installed(struct results *results)
{
	static const char *const patterns[] = {INSTALLED_DIRECTOR_CONF, INSTALLED_TABLE_SOURCE, INSTALLED_TABLE,
		INSTALLED_HEALTHCHECK_CONF, INSTALLED_REDIRECT_CONF, INSTALLED_FLEET_CONF,
		INSTALLED_BIFURCATE "/*.conf", INSTALLED_ENVIRONMENT "/glb-director",
		INSTALLED_ENVIRONMENT "/glb-redirect", INSTALLED_ENVIRONMENT "/glb-redirect.*"};
	glob_t found = {0};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
	check_all(results, found.gl_pathv, found.gl_pathc, NULL);
	if (found.gl_pathc == 0)
		results->code = command_usage(
			"check: no FILE is named, and none is installed, such as " INSTALLED_DIRECTOR_CONF);
	globfree(&found);
}

static int check_usage(const struct command_args *args)
{
	unsigned stdins = 0;

	for (int i = 0; i < args->count; i++)
		stdins += strcmp(args->operands[i], "-") == 0;
	if (stdins > 1)
		return command_usage("check: '-' is given twice, but standard input can be read only once");
	if (args->options[KIND] && args->count == 0)
		return command_usage("check: --kind needs a FILE");
	return COMMAND_OK;
}

static int check_run(const struct command_args *args)
{
	struct results results = {0};
	enum check_kind kind = args->numbers[KIND]; /* the words are in the order of the enum */

	if (check_usage(args) != COMMAND_OK)
		return COMMAND_USAGE;
	if (args->options[JSON])
		results.files = json_array();
	if (args->count)
		check_all(&results, args->operands, (size_t)args->count, args->options[KIND] ? &kind : NULL);
	else
		check_installed(&results);
	if (results.files && cli_print_json(json_pack("{s:o}", "files", results.files)) != COMMAND_OK)
		return CLI_CHECK_ERRORS;
	/*
	 * If writing to stdout failed, the user saw no result, so the exit code may not be that for warnings.
	 * command_main() prints the reason.
	 */
	return fflush(stdout) != 0 || ferror(stdout) ? CLI_CHECK_ERRORS : results.code;
}

const struct command check_command = {
	.name = "check",
	.run = check_run,
	.operands = "[FILE...]",
	.summary = "Validate tables and configurations, the installed ones by default",
	.options = options,
};
