/* SPDX-License-Identifier: BSD-3-Clause */
/* --check-once: the results as a table on stdout. */
#ifndef GLB_HEALTHCHECK_ONCE_H
#define GLB_HEALTHCHECK_ONCE_H

#include "healthcheck/monitor.h"

/* True: every backend is healthy. */
bool once_print(const struct checklist *list);

#endif
