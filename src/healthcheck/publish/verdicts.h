/* SPDX-License-Identifier: BSD-3-Clause */
/* From the verdicts of checks to `healthy` of backends. */
#ifndef GLB_HEALTHCHECK_PUBLISH_VERDICTS_H
#define GLB_HEALTHCHECK_PUBLISH_VERDICTS_H

#include "healthcheck/checklist.h"

/*
 * Sets `healthy` of every backend in the list's document. A table in panic (less than panic_threshold percent of its
 * backends are healthy) has all of them healthy; panic[] tells which tables are. False: out of memory.
 */
bool verdicts_apply(struct checklist *list, unsigned panic_threshold, bool panic[TABLE_MAX_TABLES]);

#endif
