/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the commands of a plan, without a shell. One thread. */
#ifndef GLB_BIFURCATE_VF_VF_RUN_H
#define GLB_BIFURCATE_VF_VF_RUN_H

#include "common/faults.h"

/* Runs "echo VALUE > PATH" or a program. Returns 0, or -errno with an error in faults that has the command and the
 * reason. */
int vf_run(const char *command, struct faults *faults);

#endif
