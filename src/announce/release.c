/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `glb-announce release` withdraws what a daemon that was killed has left announced. The service manager runs it after
 * each end of the daemon.
 */
#include "announce/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "announce/config/settings.h"
#include "announce/driver.h"
#include "announce/status.h"
#include "common/file/file.h"
#include "common/file/file_lock.h"
#include "program/installed.h"
#include "program/log.h"

/* Returns whether all VIPs that may be announced are withdrawn now. */
static bool withdraw(const struct settings *settings, const struct vips *vips, bool *any)
{
	static struct netprefix prefixes[2 * STATUS_MAX_VIPS]; /* of the file and of the configuration */
	static bool done[2 * STATUS_MAX_VIPS];
	char text[NETPREFIX_TEXT_MAX], error[DRIVER_ERROR_MAX];
	bool failed = false;
	size_t count = 0;

	for (size_t i = 0; i < vips->count; i++)
		if (vips->items[i].state != VIPS_WITHDRAWN)
			prefixes[count++] = vips->items[i].prefix;
	*any |= count;
	if (count > 1 && settings->driver.batch &&
		!driver_set_batch(&settings->driver, prefixes, count, false, done, error))
		log_warning("%s; release withdraws the VIPs one by one", error);
	for (size_t i = 0; i < count; i++) {
		netprefix_format(&prefixes[i], text);
		if (done[i] || driver_set(&settings->driver, &prefixes[i], false, error)) {
			log_notice("%s: withdrawn: glb-announce ended without withdrawing it", text);
			continue;
		}
		log_error("%s: may still be announced: %s", text, error);
		failed = true;
	}
	return !failed;
}

/*
 * Without a usable status file, the VIPs are those that the configuration lists. Those of the binds are not known any
 * more. Returns whether the VIPs are known.
 */
static bool use_listed(const struct announce_conf *conf, struct vips *vips, const char *fault)
{
	struct netprefix probe = {.addr = conf->probe.address, .length = (uint8_t)netaddr_bits(&conf->probe.address)};

	if (!vips_replace(vips, conf->vips, conf->vip_count, conf->probe.address.family ? &probe : NULL))
		log_error("out of memory");
	else if (conf->all_binds)
		log_error("%s; so other VIPs may still be announced: ask the routing daemon, as `check` in %s does, and withdraw them there",
			fault, conf->driver);
	else
		log_warning("%s; so all VIPs that the configuration lists are withdrawn", fault);
	return !conf->all_binds && vips->items;
}

static int withdraw_recorded(const struct settings *settings)
{
	static const char none[] = "{\"vips\": []}\n";
	struct faults faults = {0};
	struct vips vips;
	bool known = true, any = false, done;

	if (status_read(&settings->conf, &vips, &faults)) {
		any = true;
		known = use_listed(&settings->conf, &vips, faults_first_error(&faults));
	}
	done = withdraw(settings, &vips, &any) && known;
	vips_free(&vips);
	faults_clear(&faults);
	/* A missing file would mean that nobody knows the VIPs. */
	if (done && any && file_replace(settings->conf.status_file, NULL, none, strlen(none), &faults))
		log_warning("%s", faults_first_error(&faults));
	faults_clear(&faults);
	return done ? COMMAND_OK : COMMAND_FAILED;
}

/* The lock keeps a daemon from starting meanwhile, until this process ends. */
static int release(const struct settings *settings)
{
	char holder[FILE_LOCK_HOLDER_MAX];
	int fd;

	if (settings->conf.fail == ANNOUNCE_FAIL_STATIC) {
		log_info("fail is \"static\", so the VIPs stay as they are");
		return COMMAND_OK;
	}
	if (access(settings->conf.status_file, F_OK) < 0 && errno == ENOENT &&
		!file_lock_exists(settings->conf.status_file))
		return COMMAND_OK; /* no glb-announce has run since the system started */
	fd = file_lock(settings->conf.status_file, 1000, holder);
	if (fd >= 0)
		return withdraw_recorded(settings);
	log_error("%s: %s", settings->conf.status_file,
		fd == -EWOULDBLOCK ? "glb-announce runs: stop it instead, or use glb-announce withdraw" : strerror(-fd));
	return COMMAND_FAILED;
}

/* Replaces settings that have errors by those that the daemon used last. Of a file that cannot be parsed not even
 * status_file is known. */
static int use_kept(const char *path, struct settings *settings)
{
	char *status_file = strdup(settings->conf.status_file ? settings->conf.status_file : ANNOUNCE_STATUS_FILE);
	struct faults faults = {0};
	int error;

	settings_free(settings);
	error = status_file ? settings_read_kept(status_file, settings, &faults) : -ENOMEM;
	if (!error)
		log_notice("%s cannot be used, so what glb-announce used last applies: %s.conf and .driver", path,
			status_file);
	else if (error != -ENOENT)
		log_faults(&faults, FAULTS_ERRORS);
	faults_clear(&faults);
	free(status_file);
	return error;
}

static int release_run(const struct command_args *args)
{
	struct faults faults = {0};
	struct settings settings;
	int error, code = COMMAND_FAILED;
	bool missing;

	log_open("glb-announce", false);
	error = settings_read(args->values[COMMANDS_CONFIG_FILE], &settings, &faults);
	if (error != -ENOENT)
		log_faults(&faults, FAULTS_ERRORS);
	faults_clear(&faults);
	missing = error == -ENOENT;
	if (error)
		error = use_kept(args->values[COMMANDS_CONFIG_FILE], &settings);
	if (!error)
		code = release(&settings);
	else if (missing && error == -ENOENT)
		code = COMMAND_OK; /* a daemon that never had a configuration has announced nothing */
	settings_free(&settings);
	return code;
}

const struct command release_command = {
	.name = "release",
	.run = release_run,
	.summary = "Withdraw what a glb-announce that was killed has left announced, unless fail is \"static\"",
	.options = commands_options,
};
