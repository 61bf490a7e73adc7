/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks and reads the environment files of the systemd units, such as /etc/default/glb-director. One thread. */
#pragma once

#include <stdbool.h>

#include "common/faults.h"

/* Gets the name and the value of an assignment, without quotes. The strings are valid only during the call. */
typedef void environment_each(void *context, const char *name, const char *value);

/* Calls `each` for the assignments of the file, in their order: the last one of a name counts. */
void check_environment_read(const char *path, environment_each *each, void *context, struct faults *faults);

void check_environment(const char *path, struct faults *faults);

/* Returns true if a line of the text sets a variable of our units. */
bool check_environment_is(const char *text);
