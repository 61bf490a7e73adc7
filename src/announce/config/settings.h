/* SPDX-License-Identifier: BSD-3-Clause */
/* announce.conf and the driver file that it names, read together. Constant after settings_read(). One thread. */
#ifndef GLB_ANNOUNCE_CONFIG_SETTINGS_H
#define GLB_ANNOUNCE_CONFIG_SETTINGS_H

#include "announce/config/announce_conf.h"
#include "announce/config/driver_conf.h"

struct settings {
	struct announce_conf conf;
	struct driver_conf driver;
};

/* Returns as announce_conf_read(). The caller calls settings_free() in either case. */
int settings_read(const char *path, struct settings *settings, struct faults *faults);
void settings_free(struct settings *settings);

#endif
