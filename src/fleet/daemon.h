/* SPDX-License-Identifier: BSD-3-Clause */
/* `glb-fleet run`. */
#pragma once

#include "fleet/fleet_conf.h"

/* Runs until SIGTERM or SIGINT, which must be blocked. Returns the exit code, and frees *conf. */
int daemon_run(const char *path, struct fleet_conf *conf);
