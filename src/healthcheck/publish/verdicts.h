/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns the verdicts of the checks into the member `healthy` of each backend. */
#ifndef GLB_HEALTHCHECK_PUBLISH_VERDICTS_H
#define GLB_HEALTHCHECK_PUBLISH_VERDICTS_H

#include "healthcheck/core/checklist.h"

/*
 * Sets `healthy` of every backend in the list's document. If less than panic_threshold percent of a table's backends
 * are healthy, the table is in panic: all its backends are set to healthy, and panic[table] to true. Returns false if
 * out of memory.
 */
bool verdicts_apply(struct checklist *list, unsigned panic_threshold, bool panic[TABLE_MAX_TABLES]);

#endif
