/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps a second glb-healthcheck from writing the same files: each output has a lock file FILE.lock, which the kernel
 * unlocks when the process ends, however it ends. The lock files stay. One thread.
 */
#pragma once

#include "healthcheck/config/conf.h"

/*
 * Locks dst, the binary table and the state file until the process ends. Returns 0, or -EBUSY with an error in `faults`
 * if another process has one of them. A lock that cannot be made for another reason is only a warning: a full disk must
 * not stop the checks.
 */
int output_lock(const struct conf *conf, struct faults *faults);
