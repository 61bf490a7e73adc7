/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-announce: announces the VIPs of a director that forwards, and withdraws them when it does not. */
#include "announce/commands.h"

#include <stdlib.h>
#include <string.h>

#include "announce/daemon.h"
#include "common/file/file_lock.h"
#include "program/early_signals.h"
#include "program/installed.h"
#include "program/log.h"

#include <errno.h>

static const struct command_option options[] = {
	COMMANDS_OPTION_LIST,
	{0},
};

bool commands_read(const struct command_args *args, struct announce_conf *conf, struct driver_conf *driver)
{
	const char *path = args->options[COMMANDS_CONFIG_FILE];
	struct faults faults = {.file = path ? path : INSTALLED_ANNOUNCE_CONF};
	bool read;

	*conf = (struct announce_conf){0};
	if (driver)
		*driver = (struct driver_conf){0};
	read = announce_conf_read(faults.file, conf, &faults) == 0;
	if (read && driver) {
		faults.file = conf->driver;
		read = driver_conf_read(conf->driver, driver, &faults) == 0;
	}
	faults_report(&faults, FAULTS_ALL, command_fault, NULL);
	faults_clear(&faults);
	return read;
}

void commands_free(struct announce_conf *conf, struct driver_conf *driver)
{
	announce_conf_free(conf);
	if (driver)
		driver_conf_free(driver);
}

/* The lock says which process announces. The kernel ends it with the process. */
static bool lock(const struct announce_conf *conf)
{
	pid_t owner;
	int fd = file_lock(conf->status_file, &owner);

	if (fd >= 0)
		return true;
	if (fd == -EWOULDBLOCK)
		log_error("%s: another glb-announce runs with this status_file: process %ld", conf->status_file,
			(long)owner);
	else
		log_error("%s.lock: cannot be created: %s; create its folder, or set status_file", conf->status_file,
			strerror(-fd));
	return false;
}

static int run(const struct command_args *args)
{
	struct announce_conf conf;
	struct driver_conf driver;
	int code = COMMAND_FAILED;

	log_open("glb-announce", false);
	if (commands_read(args, &conf, &driver) && lock(&conf))
		code = daemon_run(&conf, &driver);
	commands_free(&conf, &driver);
	return code;
}

static int check(const struct command_args *args)
{
	struct announce_conf conf;
	struct driver_conf driver;
	bool good = commands_read(args, &conf, &driver);

	commands_free(&conf, &driver);
	return good ? COMMAND_OK : COMMAND_FAILED;
}

const struct command run_command = {
	.name = "run",
	.run = run,
	.operands = "",
	.summary = "Announce the VIPs while the director forwards, until SIGTERM",
	.options = options,
};

const struct command check_command = {
	.name = "check",
	.run = check,
	.operands = "",
	.summary = "Check the configuration and the driver file that it names",
	.options = options,
};

static const struct command *const commands[] = {
	&run_command,
	&check_command,
	&status_command,
	&withdraw_command,
	&announce_command,
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
