/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a forwarding table to the checks that it wants: each one once, however many tables list the
 * proxy, and the backends that depend on it. A new list takes over what an old one knows.
 */
#ifndef GLB_HEALTHCHECK_CHECKLIST_H
#define GLB_HEALTHCHECK_CHECKLIST_H

#include <jansson.h>

#include "healthcheck/checks/check.h"
#include "healthcheck/checks/probe.h"
#include "healthcheck/checks/settings.h"
#include "healthcheck/config/conf.h"
#include "healthcheck/damper.h"
#include "healthcheck/scheduler.h"
#include "table/file/table_document.h"

struct check {
	struct scheduler_entry entry;
	struct probe probe;
	struct check_spec spec;
	struct check_timing timing;
	char *what; /* is checked: "tcp 192.168.50.10:22" */
	char *name; /* the same before and after a restart; "WHAT of TABLE" where others check WHAT */
	char *key; /* of what, settings and timing: checks with one key are one check */
	struct damper damper;
	uint64_t probes; /* that ended */
	enum check_result result; /* of the last one */
	char reason[PROBE_REASON_MAX];
	uint64_t latency_us;
	int64_t changed_s; /* wall clock of the last transition; 0: none */
};

/* A backend's interest in a check. */
struct checklist_use {
	uint32_t check; /* index in checks */
	uint32_t table, backend;
};

struct checklist {
	struct table_document document;
	struct check **checks; /* NULL: moved to a newer list */
	uint32_t check_count;
	uint32_t unknown; /* checks without a verdict; kept by checklist_count_unknown(), monitor */
	struct checklist_use *uses; /* by table, then backend */
	size_t use_count;
	size_t **first; /* first[table][backend] of uses, with one more at the end */
};

/*
 * Takes the document over, also where it fails. Verdicts: unknown, until checklist_adopt(). False:
 * out of memory.
 */
bool checklist_build(struct checklist *list, struct table_document *document, const struct conf *conf);

/*
 * Checks of `old` that `list` has as well move to it as they are, probes and all; those of the same
 * name, or else of the same what, give their verdict. `old` keeps the others. False: out of memory,
 * nothing was moved.
 */
bool checklist_adopt(struct checklist *list, struct checklist *old);

void checklist_free(struct checklist *list);

bool checklist_has(const struct checklist *list, enum check_kind kind);

/* All checks together; unknown: one has no verdict, and none is unhealthy. Without checks: healthy.
 */
enum damper_verdict checklist_verdict(const struct checklist *list, uint32_t table, uint32_t backend);

void checklist_count_unknown(struct checklist *list);

/* The state file's content, by names. */
json_t *checklist_save(const struct checklist *list);
void checklist_restore(struct checklist *list, const json_t *state);

#endif
