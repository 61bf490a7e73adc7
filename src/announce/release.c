/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `glb-announce release` withdraws what a daemon that was killed has left announced. The service manager runs it after each end of the
 * daemon.
 */
#include "announce/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "announce/config/settings.h"
#include "announce/driver.h"
#include "announce/status.h"
#include "common/file/file_lock.h"
#include "program/installed.h"
#include "program/log.h"

static const struct command_option options[] = {
	COMMANDS_OPTION_LIST,
	{0},
};

static int withdraw(const struct settings *settings)
{
	static struct netprefix prefixes[STATUS_MAX_PREFIXES];
	size_t count = status_read_prefixes(settings->conf.status_file, prefixes, STATUS_MAX_PREFIXES);
	char text[NETPREFIX_TEXT_MAX], error[DRIVER_ERROR_MAX];
	bool failed = false;

	for (size_t i = 0; i < count; i++) {
		netprefix_format(&prefixes[i], text);
		if (driver_set(&settings->driver, &prefixes[i], false, error)) {
			log_notice("%s: withdrawn: glb-announce ended without withdrawing it", text);
			continue;
		}
		log_error("%s: may still be announced: %s", text, error);
		failed = true;
	}
	if (failed)
		return COMMAND_FAILED;
	if (count && unlink(settings->conf.status_file) < 0)
		log_warning("%s: cannot be removed: %s", settings->conf.status_file, strerror(errno));
	return COMMAND_OK;
}

/* The lock keeps a daemon from starting meanwhile, until this process ends. */
static int release(const struct settings *settings)
{
	pid_t owner;
	int fd;

	if (settings->conf.fail == ANNOUNCE_FAIL_STATIC) {
		log_info("fail is \"static\", so the VIPs stay as they are");
		return COMMAND_OK;
	}
	fd = file_lock(settings->conf.status_file, &owner);
	if (fd >= 0)
		return withdraw(settings);
	log_error("%s: %s", settings->conf.status_file,
		fd == -EWOULDBLOCK ? "glb-announce runs: stop it instead, or use glb-announce withdraw" : strerror(-fd));
	return COMMAND_FAILED;
}

static int run(const struct command_args *args)
{
	struct faults faults = {0};
	struct settings settings;
	int error, code = COMMAND_FAILED;

	log_open("glb-announce", false);
	error = settings_read(commands_path(args), &settings, &faults);
	log_faults(&faults, FAULTS_ERRORS);
	faults_clear(&faults);
	if (error == -ENOENT)
		code = COMMAND_OK; /* a daemon without configuration has announced nothing */
	else if (!error)
		code = release(&settings);
	settings_free(&settings);
	return code;
}

const struct command release_command = {
	.name = "release",
	.run = run,
	.operands = "",
	.summary = "Withdraw what a glb-announce that was killed has left announced, unless fail is \"static\"",
	.options = options,
};
