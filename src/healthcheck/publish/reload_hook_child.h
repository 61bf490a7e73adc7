/* SPDX-License-Identifier: BSD-3-Clause */
/* What the child process of the reload hook does. */
#ifndef GLB_HEALTHCHECK_PUBLISH_RELOAD_HOOK_CHILD_H
#define GLB_HEALTHCHECK_PUBLISH_RELOAD_HOOK_CHILD_H

#include "healthcheck/config/conf.h"

/* Runs what is configured, with messages on stderr, and ends the process. */
_Noreturn void reload_hook_child_run(const struct conf *conf);

#endif
