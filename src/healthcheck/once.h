/* SPDX-License-Identifier: BSD-3-Clause */
/* --check-once: prints the results as a table. */
#pragma once

#include "healthcheck/monitor/monitor.h"

/* Prints to stdout. Returns true if every backend is healthy. The caller checks stdout for errors. */
bool once_print(const struct checklist *list);
