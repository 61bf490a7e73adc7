/* SPDX-License-Identifier: BSD-3-Clause */
/* Warns in the log before a certificate that an https check has seen expires. One thread. */
#pragma once

#include "healthcheck/core/checklist.h"

#define EXPIRY_DAY_S     86400
#define EXPIRY_WARNING_S (14 * EXPIRY_DAY_S)

/* Logs a warning, at most once a day for each check, if the certificate expires within EXPIRY_WARNING_S. `now_s` is
 * Unix time. */
void expiry_warn(struct check *check, int64_t now_s);
