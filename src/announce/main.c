/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-announce: announces the VIPs of a director that forwards, and withdraws them when it does not. */
#include "announce/commands.h"

#include <string.h>

#include "announce/daemon.h"
#include "program/early_signals.h"
#include "program/status_file.h"

const struct command_option commands_options[] = {
	COMMANDS_OPTION_LIST,
	{0},
};

bool commands_read(const struct command_args *args, struct announce_conf *conf)
{
	struct faults faults = {.file = args->values[COMMANDS_CONFIG_FILE]};
	bool read = announce_conf_read(faults.file, conf, &faults) == 0;

	command_faults(&faults, FAULTS_ALL);
	return read;
}

static int run_daemon(const struct command_args *args)
{
	const char *path = args->values[COMMANDS_CONFIG_FILE];
	struct faults faults = {0};
	struct settings settings;
	int code;

	log_open("glb-announce", false);
	code = settings_read(path, &settings, &faults);
	log_faults(&faults, FAULTS_ALL);
	code = status_file_start("glb-announce", code, "announce.conf", settings.conf.status_file);
	if (code == COMMAND_OK)
		return daemon_run(path, &settings);
	settings_free(&settings);
	return code;
}

static int check(const struct command_args *args)
{
	struct faults faults = {0};
	struct settings settings;
	int error = settings_read(args->values[COMMANDS_CONFIG_FILE], &settings, &faults);

	command_faults(&faults, FAULTS_ALL);
	settings_free(&settings);
	return error ? COMMAND_FAILED : COMMAND_OK;
}

static const struct command *const commands[] = {
	&(const struct command){"run", run_daemon, .options = commands_options,
		.summary = "Announce the VIPs while the director forwards, until SIGTERM"},
	&(const struct command){"check", check, .options = commands_options,
		.summary = "Check the configuration and the driver file that it names"},
	&status_command,
	&withdraw_command,
	&announce_command,
	&release_command,
};

static const struct command_program program = {
	.name = "glb-announce",
	.commands = commands,
	.count = sizeof(commands) / sizeof(commands[0]),
};

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "run") != 0)
		early_signals_unblock();
	return command_main(&program, argc, argv);
}
