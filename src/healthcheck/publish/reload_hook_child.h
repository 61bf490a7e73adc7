/* SPDX-License-Identifier: BSD-3-Clause */
/* The child process of the reload hook. */
#pragma once

#include "healthcheck/config/conf.h"
#include "deliver/deliver.h"

/*
 * Runs reload_command, or builds the table, notifies the director, and compares the table that it uses with the one
 * that was built. Writes errors to stderr. Ends the process with exit code 0, with one of deliver.h, or with another
 * one after a failure. data: a struct conf.
 */
void reload_hook_child_run(const void *data);
