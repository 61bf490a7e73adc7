/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the subcommand plan. One thread. All functions print their errors. */
#pragma once

#include <limits.h>

#include <jansson.h>

#include "cli/diff/sequence.h"
#include "rollout/rollout.h"
#include "table/file/json/json_edit.h"
#include "table/file/table_document.h"

#define PLAN_MAX_STEPS 7
#define PLAN_FEW_STEPS 3 /* plans with more drain the proxies that are down first */

enum plan_kind {
	PLAN_WANTED, /* the file WANTED, byte for byte; but see plan_step_text() */
	/* First hops are those of CURRENT. New proxies are draining, and the later hops have the first hops
	 * of WANTED. */
	PLAN_ANNOUNCE,
	/* First hops are those of WANTED. Proxies that leave are draining, and the later hops have the first hops of
	 * CURRENT. */
	PLAN_SWITCH,
	/* The same in smaller changes: the proxies that are down in one of both tables are drained first, and undrained
	 * last. So no row is matched to a proxy that is down, and two hops are enough. */
	PLAN_ANNOUNCE_DRAIN, /* first hops of CURRENT; the later hops have those of the drain */
	PLAN_DRAIN, /* first hops of CURRENT where these proxies are draining */
	PLAN_ANNOUNCE_DRAINED,
	PLAN_SWITCH_DRAINED,
	PLAN_ANNOUNCE_UNDRAIN, /* first hops of WANTED where these proxies are draining */
	PLAN_UNDRAIN, /* first hops of WANTED; the later hops have those before */
	PLAN_APPROVED, /* a file of another plan */
	PLAN_KINDS,
};

/* What two tables and the changes between them have in common. */
struct plan_input {
	const char *current_path, *wanted_path;
	struct table_set current; /* with rows */
	struct table_document wanted; /* with rows */
	struct json_edit current_text; /* NULL: CURRENT is binary */
	bool thorough; /* `check` finds no error in WANTED, and must find none in the steps */
	struct table_set_diff at_once; /* CURRENT -> WANTED */
};

struct plan_step {
	enum plan_kind kind;
	struct json_edit text; /* owned */
	struct table_set set; /* with rows; owned */
	uint32_t broken, skew; /* rows */
	enum rollout_wait wait; /* before the next step */
};

struct plan {
	enum rollout_wait first_wait; /* before step 0 */
	uint32_t count;
	struct plan_step steps[PLAN_MAX_STEPS]; /* borrowed from the search */
	uint32_t broken, skew; /* sum of the steps, and the most of a step; rows */
};

/* Returns true if a proxy of CURRENT leaves: it is not in WANTED, or becomes inactive there. */
bool plan_leaves(const struct table_diff_backend *backend);

/* Returns true if such a proxy gets no new connections in CURRENT, and so can be waited for before the first step. */
bool plan_drains(const struct table_diff_backend *backend);

/* Returns true if the rows of both tables of the pair are known to follow from the same seed. */
bool plan_keeps_seed(const struct table_diff *pair);

/* Returns true if the proxies have IPv4 addresses before, and IPv6 addresses after, or the other way round. */
bool plan_changes_family(const struct table_diff *pair);

/* Returns true if steps before WANTED can help: the backends, weights, balance or hops change, but neither the seed nor
 * the family of the backends. */
bool plan_can_help(const struct table_diff *pair);

/* Returns true if the proxy is down in one of both tables. */
bool plan_is_down(const struct table_diff_backend *backend);
bool plan_any_down(const struct plan_input *input);

/* Makes the text of a step. with_past: it keeps the previous states of CURRENT. */
void plan_text(const struct plan_input *input, enum plan_kind kind, bool with_past, struct json_edit *text);

/* The tables that the tried plans use. Those without a text are not made yet. */
struct plan_tables {
	struct plan_step steps[PLAN_KINDS][2]; /* [1]: without the previous states of CURRENT */
};

/* Finds the shortest plan that breaks nothing, or else the one that breaks the least. The steps borrow from *tables,
 * which the caller frees. False: out of memory, or a table is not valid. */
bool plan_search(const struct plan_input *input, struct plan_tables *tables, struct plan *plan);

/* Parses the text of a table, as `check` does if thorough, and builds its rows. False, with an error that names the
 * path. */
bool plan_build(const char *path, const struct json_edit *text, bool thorough, struct table_set *set);

/* Chooses the shortest waits with which each of the given steps breaks the least, and counts what they break. */
void plan_choose_waits(const struct plan_input *input, struct plan *plan);
void plan_tables_free(struct plan_tables *tables);

/* Parses WANTED, and builds its rows. */
bool plan_parse_wanted(struct plan_input *input, const char *text, size_t size);

/* Fills at_once. */
void plan_compare(struct plan_input *input);

/* Compares both tables, and searches a plan as plan_search() does. No steps: both have the same digest. The caller
 * calls plan_tables_free() in any case. */
bool plan_find(struct plan_input *input, struct plan_tables *tables, struct plan *plan);
void plan_input_free(struct plan_input *input);

/* limit: percent of the rows that may break. plan_refuse() prints the error, and returns the exit code. */
bool plan_is_allowed(const struct plan_input *input, const struct plan *plan, double limit);
int plan_refuse(const struct plan_input *input, const struct plan *plan, double limit);

/*
 * Returns the text of a step as it is published, malloc'd. `replaces` of WANTED confirms what the plan loses as a
 * whole, but glb-fleet and glb-healthcheck see one step only. So if it names CURRENT, each step that loses something
 * has it, naming the table before this step. Otherwise only the last step has it.
 */
char *plan_step_text(const struct plan_input *input, const struct plan *plan, uint32_t index, const char *text);

/* "announce", "switch", "wanted" */
const char *plan_kind_name(enum plan_kind kind);

/* Returns what would make the plan safe, or shorter if it drains proxies that are down, as an array of sentences. */
json_t *plan_helps(const struct plan_input *input, const struct plan *plan);

/* Print the plan. dir: the files are in this folder; NULL: they are not written. */
void plan_print(const struct plan_input *input, const struct plan *plan, const char *dir);
json_t *plan_describe(const struct plan_input *input, const struct plan *plan, const char *dir);

/* Writes CURRENT as 0.json if it is JSON, and the tables 1.json, 2.json ... into a new or empty folder, all or none.
 * Returns the exit code. */
int plan_write(const struct plan_input *input, const struct plan *plan, const char *dir);
