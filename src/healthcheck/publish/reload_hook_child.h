/* SPDX-License-Identifier: BSD-3-Clause */
/* The child process of the reload hook. */
#ifndef GLB_HEALTHCHECK_PUBLISH_RELOAD_HOOK_CHILD_H
#define GLB_HEALTHCHECK_PUBLISH_RELOAD_HOOK_CHILD_H

#include "healthcheck/config/conf.h"

/* Runs reload_command, or builds the table and notifies. Writes errors to stderr. Ends the process. */
_Noreturn void reload_hook_child_run(const struct conf *conf);

#endif
