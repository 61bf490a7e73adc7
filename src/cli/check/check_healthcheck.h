/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks healthcheck.conf. A separate file, because the struct conf of glb-healthcheck is not that of the director. One
 * thread. */
#pragma once

#include <stdbool.h>

#include "common/faults.h"

void check_healthcheck(const char *path, struct faults *faults);

/* Adds a warning if the checks of a valid healthcheck.conf do not have a UDP checksum as the director's packets. */
void check_healthcheck_checksum(const char *path, bool of_director, struct faults *faults);

/* Returns how many keys of healthcheck.conf the text has at the top level. */
unsigned check_healthcheck_keys_in(const char *text);
