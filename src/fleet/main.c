/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-fleet: makes the table in etcd the table of this director, and tells the fleet which one the director uses. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fleet/fleet.h"
#include "fleet/keys.h"
#include "fleet/status.h"
#include "program/early_signals.h"
#include "program/member.h"
#include "program/status_file.h"

enum { CONFIG_FILE, JSON };

#define OPTION_CONFIG_FILE [CONFIG_FILE] = {"config-file", "FILE", "the configuration", INSTALLED_FLEET_CONF}

static const struct command_option options[] = {
	OPTION_CONFIG_FILE,
	{0},
};

static const struct command_option status_options[] = {
	OPTION_CONFIG_FILE,
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

/* A command ends the process, which frees it. */
static struct fleet_conf conf;

static bool read_conf(const struct command_args *args)
{
	struct faults faults = {.file = args->values[CONFIG_FILE], .thorough = true};
	bool read = fleet_conf_read(faults.file, &conf, &faults) == 0;

	command_faults(&faults, FAULTS_ALL);
	return read;
}

static int run_daemon(const struct command_args *args)
{
	const char *path = args->values[CONFIG_FILE];
	struct faults faults = {.file = path, .thorough = true};
	int code;

	log_open("glb-fleet", false);
	code = fleet_conf_read(path, &conf, &faults);
	log_faults(&faults, FAULTS_ALL);
	code = status_file_start("glb-fleet", code, "fleet.conf", conf.status_file);
	return code == COMMAND_OK ? daemon_run(path, &conf) : code;
}

static int check(const struct command_args *args)
{
	return read_conf(args) ? COMMAND_OK : COMMAND_FAILED;
}

/* Reads the configuration and the status. Returns NULL after an error message. */
static json_t *read_status(const struct command_args *args)
{
	struct faults faults = {0};
	json_t *status = read_conf(args) ? status_file_read("glb-fleet", conf.status_file, STATUS_MAX, &faults) : NULL;

	command_faults(&faults, FAULTS_ERRORS);
	return status;
}

static void print_status(const json_t *status)
{
	const json_t *etcd = json_object_get(status, "etcd"), *director = json_object_get(status, "director");
	const json_t *refused = json_object_get(director, "refused"), *table = json_object_get(director, "table"),
		     *reason;
	const json_t *rollout = json_object_get(status, "rollout");
	bool connected = json_is_true(json_object_get(etcd, "connected"));
	size_t i;

	command_print(2, "%s", member_text(status, "summary"));
	command_print(2, "etcd: %s: %s", connected ? "replies" : "does not reply",
		member_text(etcd, connected ? "endpoint" : "error"));
	command_print(2,
		"in etcd: revision %" JSON_INTEGER_FORMAT "; in the file: revision %" JSON_INTEGER_FORMAT
		"; the director uses: revision %" JSON_INTEGER_FORMAT ", fingerprint %s",
		member_number(director, "seen"), member_number(status, "applied"), member_number(table, "revision"),
		*member_text(table, "fingerprint") ? member_text(table, "fingerprint") : "unknown");
	if (json_is_object(refused))
		command_print(2, "refused: revision %" JSON_INTEGER_FORMAT ": %s", member_number(refused, "revision"),
			member_text(refused, "reason"));
	if (*member_text(rollout, "id"))
		command_print(2, "roll-out %s: %s, step %" JSON_INTEGER_FORMAT "%s%s%s%s", member_text(rollout, "id"),
			member_text(rollout, "state"), member_number(rollout, "step"),
			*member_text(rollout, "leader") ? ", advanced by " : "", member_text(rollout, "leader"),
			*member_text(rollout, "reason") ? ": " : "", member_text(rollout, "reason"));
	json_array_foreach(json_object_get(director, "reasons"), i, reason)
		command_print(2, "director: %s", json_string_value(reason));
}

static int run_status(const struct command_args *args)
{
	json_t *status = read_status(args), *director;
	bool good;

	if (status && args->options[JSON]) {
		json_dumpf(status, stdout, JSON_INDENT(2));
		printf("\n");
	} else if (status) {
		print_status(status);
	}
	director = json_object_get(status, "director");
	good = status && json_is_true(json_object_get(json_object_get(status, "etcd"), "connected")) &&
	       json_is_null(json_object_get(director, "refused")) && !*member_text(status, "failing") &&
	       !*member_text(status, "conflict") && json_is_true(json_object_get(director, "healthy"));
	json_decref(status);
	return good ? COMMAND_OK : COMMAND_FAILED;
}

static int accept(const struct command_args *args)
{
	json_t *status = read_status(args);
	int error = 0, code = COMMAND_FAILED;
	pid_t pid;

	if (status && !json_is_true(json_object_get(status, "unconfirmed")))
		command_error("nothing waits for a confirmation");
	else if (status && (error = file_lock_signal(conf.status_file, SIGUSR1, &pid)) != 0)
		command_error("SIGUSR1 to process %ld: %s", (long)pid, strerror(-error));
	else if (status)
		code = COMMAND_OK;
	json_decref(status);
	return code;
}

static int run_keys(const struct command_args *args)
{
	struct faults faults = {0};
	char id[17];
	bool good = read_conf(args) && keys_id(conf.keys_dir, args->operands[0], id, &faults);

	if (good)
		printf("\"keys\": \"%s\", \"keys_id\": \"%s\"\n", args->operands[0], id);
	command_faults(&faults, FAULTS_ERRORS);
	return good ? COMMAND_OK : COMMAND_FAILED;
}

#define COMMAND(...)            \
	&(const struct command) \
	{                       \
		__VA_ARGS__     \
	}

static const struct command *const commands[] = {
	COMMAND("run", run_daemon, .options = options,
		.summary = "Make the table in etcd the table of this director, until SIGTERM"),
	COMMAND("check", check, .options = options, .summary = "Check the configuration"),
	COMMAND("status", run_status, .options = status_options,
		.summary = "Print which table is in use, and why not the one in etcd"),
	COMMAND("accept", accept, .options = options,
		.summary = "Use the table in etcd, although etcd went back, as after the restore of a backup"),
	COMMAND("keys", run_keys, "NAME", .options = options,
		.summary = "Print the members that stand for the keys in the file NAME in a table in etcd"),
};

static const struct command_program program = {
	.name = "glb-fleet",
	.commands = commands,
	.count = sizeof(commands) / sizeof(commands[0]),
};

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "run") != 0)
		early_signals_unblock();
	return command_main(&program, argc, argv);
}
