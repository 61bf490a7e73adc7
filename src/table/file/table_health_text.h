/* SPDX-License-Identifier: BSD-3-Clause */
/* Health checks as text for people. Values of headers may be secrets and are left out. */
#ifndef GLB_TABLE_FILE_TABLE_HEALTH_TEXT_H
#define GLB_TABLE_FILE_TABLE_HEALTH_TEXT_H

#include "health/settings.h"

/*
 * Returns "http 80 /status (host www.example.com, headers X-Token), gue 19523", or "none". `http` may be NULL: its
 * settings are left out. malloc'd, the caller frees. NULL: out of memory.
 */
char *table_health_text(const struct check_targets *targets, const struct http_settings *http);

#endif
