/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps verdicts in a JSON file, by the names of the checks, so that a restart changes none of them. */
#pragma once

#include "healthcheck/core/checklist.h"

/*
 * Sets the verdicts of `list` from the file. A missing file is not a fault. A file that cannot be used adds a warning
 * and changes no verdict.
 */
void state_file_read(const char *path, struct checklist *list, struct faults *faults);

/* Logs a warning on failure, rate-limited. */
void state_file_save(const char *path, const struct checklist *list);
