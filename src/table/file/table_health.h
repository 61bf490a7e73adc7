/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of health checks in a JSON table. table_json fills it beside the struct table_set; then it is
 * read-only. */
#pragma once

#include <stdint.h>

#include "common/faults.h"
#include "health/settings.h"

/* Settings for all tables, or for all backends of a table. */
struct table_health_defaults {
	struct check_timing timing;
	struct http_settings http; /* owned */
};

/* Settings of one table. */
struct table_health_table {
	struct table_health_defaults defaults;
	uint32_t backend_count;
	struct check_targets *backends; /* same indices as in struct table; owned, with their strings */
};

struct table_health {
	struct table_health_defaults defaults;
	uint32_t count;
	struct table_health_table *tables; /* same indices as in the set; owned */
};

/* Overwrites the members of *timing that the file sets for all tables, then those that it sets for this table. */
void table_health_timing(const struct table_health *health, uint32_t table, struct check_timing *timing);

/* Overwrites the settings that the file sets for all tables, then for this table, then for this backend. *settings
 * borrows them. */
void table_health_http(
	const struct table_health *health, uint32_t table, uint32_t backend, struct http_settings *settings);

/* Adds a warning for each table with backends that have `healthy: false` and no checks, if other backends
 * have checks. */
void table_health_warn(const struct table_health *health, struct faults *faults);

/*
 * Returns "http 80 /status (host www.example.com, headers X-Token), gue 19523", or "none". `http` may be NULL: its
 * settings are left out. So are values of headers, which may be secrets. malloc'd, the caller frees. NULL: out of
 * memory.
 */
char *table_health_text(const struct check_targets *targets, const struct http_settings *http);

/* Frees everything. *health is then empty and can be used again. */
void table_health_free(struct table_health *health);
