/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the environment files of the systemd units, such as /etc/default/glb-director. One thread. */
#ifndef GLB_CLI_CHECK_CHECK_ENVIRONMENT_H
#define GLB_CLI_CHECK_CHECK_ENVIRONMENT_H

#include <stdbool.h>

#include "common/faults.h"

void check_environment(const char *path, struct faults *faults);

/* Returns true if a line of the text sets a variable of our units. */
bool check_environment_is(const char *text);

#endif
