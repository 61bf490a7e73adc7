/* SPDX-License-Identifier: BSD-3-Clause */
#include "deliver/director.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "program/child.h"
#include "program/member.h"
#include "program/output_of.h"
#include "program/telemetry_socket.h"

#define DIGEST      "digest "
#define PATIENCE_MS 2000

/* The output belongs to that of the caller, which is logged. */
static bool take(void *, const char *bytes, size_t size)
{
	return fwrite(bytes, 1, size, stderr) == size;
}

int director_run(const char *const argv[])
{
	const struct child_plan plan = {.run = child_run_tool, .data = argv};
	struct child_failure failure;
	struct child child;
	int status, error = child_start(&child, &plan);

	if (error)
		return 127;
	error = child_wait(&child, UINT_MAX, take, NULL, &status); /* the daemon limits the time */
	if (child_failed(&child, &failure))
		fprintf(stderr, "%s: %s\n", argv[0], strerror(failure.error));
	child_close(&child);
	return error || !WIFEXITED(status) ? 127 : WEXITSTATUS(status);
}

/* Takes "degraded: REASON; 1 table, generation 2, digest 0123456789abcdef". */
static bool parse_status(const char *status, struct director_table *table)
{
	size_t word = strcspn(status, ":;"), end = strcspn(status, ";");
	const char *digest = strstr(status, DIGEST);

	if (!digest || strspn(digest + strlen(DIGEST), "0123456789abcdef") != DIRECTOR_DIGEST_SIZE - 1)
		return false;
	memcpy(table->digest, digest + strlen(DIGEST), DIRECTOR_DIGEST_SIZE - 1);
	snprintf(table->state, sizeof(table->state), "%.*s", (int)word, status);
	if (end > word + 2)
		snprintf(table->reason, sizeof(table->reason), "%.*s", (int)(end - word - 2), status + word + 2);
	return true;
}

/* Returns a property of a unit, which the caller frees; NULL after a message. */
static char *show(const char *unit, const char *property)
{
	const char *const argv[] = {"systemctl", "show", property, "--value", unit, NULL};
	char *text;
	size_t size;
	int error = output_of_both((char *const *)argv, &text, &size);

	if (!error)
		return text;
	fprintf(stderr, "systemctl show %s: %s\n", unit, text ? text : output_of_reason(error));
	free(text);
	return NULL;
}

bool director_of_unit(const char *unit, struct director_table *table)
{
	char *status = show(unit, "--property=StatusText");
	bool told;

	*table = (struct director_table){0};
	told = status && parse_status(status, table);
	free(status);
	return told;
}

char *director_unit_reload(const char *unit)
{
	return show(unit, "--property=ExecReload");
}

bool director_of_process(pid_t pid, struct director_table *table)
{
	struct telemetry_socket socket;
	struct faults faults = {0}; /* the caller says that the director does not tell */
	json_t *stats = NULL;

	*table = (struct director_table){0};
	if (telemetry_socket_open_process(&socket, pid, PATIENCE_MS))
		telemetry_socket_ask(&socket, "/glb/stats", &stats, &faults);
	telemetry_socket_close(&socket);
	faults_clear(&faults);
	table->generation = (uint64_t)member_number(stats, "generation");
	table->failures = (uint64_t)member_number(stats, "reload_failures");
	snprintf(table->digest, sizeof(table->digest), "%s", member_text(stats, "digest"));
	snprintf(table->path, sizeof(table->path), "%s", member_text(stats, "table_path"));
	snprintf(table->error, sizeof(table->error), "%s", member_text(stats, "last_error"));
	json_decref(stats);
	return table->digest[0];
}
