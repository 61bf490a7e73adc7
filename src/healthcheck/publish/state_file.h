/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdicts of the previous run, so that a restart changes none: JSON, checks by their names. */
#ifndef GLB_HEALTHCHECK_PUBLISH_STATE_FILE_H
#define GLB_HEALTHCHECK_PUBLISH_STATE_FILE_H

#include "healthcheck/checklist.h"

/* A file that is not there is no fault; one that cannot be used is a warning, and changes nothing.
 */
void state_file_read(const char *path, struct checklist *list, struct faults *faults);

/* What fails is logged. */
void state_file_save(const char *path, const struct checklist *list);

#endif
