/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks that a forwarding table configures, and the backends that depend on each check. A check that several
 * tables configure in the same way is in the list once. A new list adopts checks and verdicts of the old one.
 */
#pragma once

#include <jansson.h>

#include "health/damper.h"
#include "health/settings.h"
#include "healthcheck/checks/check.h"
#include "healthcheck/checks/probe.h"
#include "healthcheck/config/conf.h"
#include "healthcheck/core/scheduler.h"
#include "table/file/table_document.h"

/* Results that a check remembers. */
#define CHECK_HISTORY 32

struct check {
	struct scheduler_entry entry;
	struct probe probe;
	struct check_spec spec;
	struct check_timing timing;
	/* "tcp 192.168.50.10:22" */
	char *target;
	/* TARGET, or "TARGET of TABLE" if several checks have this target. It is the same after a restart. */
	char *name;
	/* Target, settings and timing as text. Two checks with the same key are one check. */
	char *key;
	struct damper damper;
	/* Finished probes. The next three members are those of the last one. */
	uint64_t probes;
	enum check_result result;
	char reason[PROBE_REASON_MAX];
	/* The last results, as enum check_result: that of probe i, from 0, at i % CHECK_HISTORY. */
	uint8_t history[CHECK_HISTORY];
	uint64_t latency_us;
	/* Unix time of the last change of the verdict; 0: none. */
	int64_t changed_s;
	/* Time at which the check last passed or failed, in ms of clock_now_ms(); 0: none. */
	uint64_t judged_ms;
	/* Unix time when the first certificate of the proxy's chain expires; 0: unknown. And when a warning
	 * was logged. */
	int64_t tls_expires_s, tls_warned_s;
};

/* Returns how long ago the check last passed or failed; 0: it did neither yet. */
static inline uint64_t check_age_ms(const struct check *check, uint64_t now_ms)
{
	return check->judged_ms ? now_ms - check->judged_ms : 0;
}

/* A backend that depends on a check. */
struct checklist_use {
	/* Index in `checks` of the list. */
	uint32_t check;
	/* Indices in the document's set of tables, and in the table's backends. */
	uint32_t table, backend;
};

struct checklist {
	struct table_document document;
	/* An element is NULL if a newer list has adopted the check. */
	struct check **checks;
	uint32_t check_count;
	/* Checks without a verdict, and checks that waver. checklist_count() sets both; the monitor counts their
	 * changes. */
	uint32_t unknown, wavering;
	/* Ordered by table, then by backend. */
	struct checklist_use *uses;
	size_t use_count;
	/*
	 * first[table][backend] is the index of the backend's first use. One more element marks the end of the table's
	 * uses.
	 */
	size_t **first;
};

/*
 * Builds the list of a document. The list owns the document from now on; on failure it is freed. All verdicts are
 * unknown. Returns false if out of memory.
 */
bool checklist_build(struct checklist *list, struct table_document *document, const struct conf *conf);

/*
 * Moves each check from `old` to `list` if both have its key. Its running probe goes on. Other checks of `list` get the
 * verdict of the check with the same name in `old`, or else with the same target. Checks that `list` does not have stay
 * in `old`. Returns false if out of memory; then nothing was moved.
 */
bool checklist_adopt(struct checklist *list, struct checklist *old);

void checklist_free(struct checklist *list);

/* Returns true if a check runs by this method. */
bool checklist_has(const struct checklist *list, const struct probe_method *method);

/*
 * Returns the verdict of all checks of a backend together: unhealthy if one is unhealthy, else unknown if one is
 * unknown, else healthy. A backend without checks is what src says, by default healthy.
 */
enum damper_verdict checklist_verdict(const struct checklist *list, uint32_t table, uint32_t backend);

/* Return whether src says `healthy: false` of a backend, and whether checks of it run. */
bool checklist_is_marked(const struct checklist *list, uint32_t table, uint32_t backend);
bool checklist_has_checks(const struct checklist *list, uint32_t table, uint32_t backend);

/* Sets list->unknown and list->wavering. */
void checklist_count(struct checklist *list);

/* Ends every hold, and forgets the flaps. */
void checklist_end_holds(struct checklist *list);

/*
 * Converts the verdicts to and from the JSON object in the state file, {NAME: VERDICT}. Unknown verdicts are left out.
 */
json_t *checklist_save(const struct checklist *list);
void checklist_restore(struct checklist *list, const json_t *verdicts);
