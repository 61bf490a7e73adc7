/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the commands of a plan, without a shell. One thread. */
#pragma once

#include "common/faults.h"

/* Runs "echo VALUE > PATH" or a program. Returns 0, or -errno with an error in faults that has the command and the
 * reason. */
int vf_run(const char *command, struct faults *faults);
