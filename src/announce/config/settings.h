/* SPDX-License-Identifier: BSD-3-Clause */
/* announce.conf and the driver file that it names, read together. Constant after settings_read(). One thread. */
#pragma once

#include "announce/config/announce_conf.h"
#include "announce/config/driver_conf.h"

struct settings {
	struct announce_conf conf;
	struct driver_conf driver;
};

/* Returns as announce_conf_read(). The caller calls settings_free() in either case. */
int settings_read(const char *path, struct settings *settings, struct faults *faults);
void settings_free(struct settings *settings);

/*
 * Keeps copies of both files beside the status file, as STATUS_FILE.conf and STATUS_FILE.driver with the mode of the
 * originals. `path` is that of announce.conf. settings_read_kept() reads them, and returns as settings_read().
 */
void settings_keep(const char *path, const struct settings *settings, struct faults *faults);
int settings_read_kept(const char *status_file, struct settings *settings, struct faults *faults);
