/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The users' settings of health checks, and their limits. Two readers fill these structs: the reader of
 * healthcheck.conf (healthcheck/config) and the reader of the JSON table (table/file/table_json_health). Plain
 * data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "health/check_kind.h"
#include "health/http_settings.h"

#define CHECK_INTERVAL_MS_MIN 10
#define CHECK_TIMEOUT_MS_MIN  1
#define CHECK_TIMING_MS_MAX   3600000 /* intervals and timeouts */
#define CHECK_TRIGGER_MAX     1000
#define CHECK_URI_MAX         2048 /* bytes */
#define CHECK_COMMAND_MAX     64 /* bytes of a command's name */

#define CHECK_GRPC_SERVICE_MAX  255 /* bytes */
#define CHECK_GRPC_SERVICE_FORM "a name of 1 to 255 characters of ASCII without spaces and control characters"

#define CHECK_COMMAND_NAME_FORM "a name of at most 64 letters, digits, '.', '_' and '-'"

static inline bool check_command_name_is_valid(const char *name)
{
	size_t size = strlen(name);

	return size > 0 && size <= CHECK_COMMAND_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == size;
}

/* A member that is not configured is 0. */
struct check_timing {
	unsigned interval_ms, timeout_ms;
	/* Results in a row that change the verdict to healthy, and to unhealthy. */
	unsigned trigger_healthy, trigger_unhealthy;
};

/* The checks of one backend, by kind. */
struct check_targets {
	/* Host byte order; 0: no check of this kind, or the kind has no port. */
	uint16_t ports[CHECK_KIND_COUNT];
	/* The file says `healthy: false`. */
	bool marked_unhealthy;
	/* http: the URI; grpc: the service that the check asks about; command: its name in healthcheck.conf; NULL:
	 * not given. Owned. */
	char *texts[CHECK_KIND_COUNT];
	/* NULL: as the table has them. Owned. */
	struct http_settings *http_settings;
};

static inline bool check_targets_has(const struct check_targets *targets, enum check_kind kind)
{
	return check_kinds[kind].has_port ? targets->ports[kind] : targets->texts[kind] != NULL;
}

static inline bool check_targets_any(const struct check_targets *targets)
{
	bool any = false;

	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++)
		any |= check_targets_has(targets, kind);
	return any;
}
