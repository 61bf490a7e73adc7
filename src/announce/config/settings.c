/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/config/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/file/file.h"

#define KEPT_MAX (1u << 20) /* bytes */

int settings_read(const char *path, struct settings *settings, struct faults *faults)
{
	int error;

	*settings = (struct settings){0};
	faults->file = path;
	error = announce_conf_read(path, &settings->conf, faults);
	if (error)
		return error;
	faults->file = settings->conf.driver;
	return driver_conf_read(settings->conf.driver, &settings->driver, faults) ? -EINVAL : 0;
}

static void keep(const char *path, const char *status_file, const char *suffix, struct faults *faults)
{
	char copy[PATH_MAX], *text;
	size_t size;

	snprintf(copy, sizeof(copy), "%s.%s", status_file, suffix);
	faults->file = path;
	if (file_read(path, "a configuration", KEPT_MAX, &text, &size, faults) < 0)
		return;
	faults->file = copy;
	file_replace_like(copy, path, text, size, faults);
	free(text);
}

void settings_keep(const char *path, const struct settings *settings, struct faults *faults)
{
	keep(path, settings->conf.status_file, "conf", faults);
	keep(settings->conf.driver, settings->conf.status_file, "driver", faults);
	faults->file = NULL;
}

int settings_read_kept(const char *status_file, struct settings *settings, struct faults *faults)
{
	char conf[PATH_MAX], driver[PATH_MAX];
	int error;

	*settings = (struct settings){0};
	snprintf(conf, sizeof(conf), "%s.conf", status_file);
	snprintf(driver, sizeof(driver), "%s.driver", status_file);
	faults->file = conf;
	error = announce_conf_read(conf, &settings->conf, faults);
	faults->file = driver;
	if (!error)
		error = driver_conf_read(driver, &settings->driver, faults);
	faults->file = NULL;
	return error;
}

void settings_free(struct settings *settings)
{
	announce_conf_free(&settings->conf);
	driver_conf_free(&settings->driver);
}
