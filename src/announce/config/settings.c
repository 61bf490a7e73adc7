/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/config/settings.h"

#include <errno.h>

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

void settings_free(struct settings *settings)
{
	announce_conf_free(&settings->conf);
	driver_conf_free(&settings->driver);
}
