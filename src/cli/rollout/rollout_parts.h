/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the subcommand rollout. One thread. All functions print their errors. */
#pragma once

#include "cli/cli.h"
#include "cli/plan/plan.h"
#include "cli/rollout/session.h"

/* The options of the subcommand, in the order of its table. */
enum {
	ROLLOUT_CONFIG,
	ROLLOUT_FROM,
	ROLLOUT_MAX_BROKEN,
	ROLLOUT_WITHOUT,
	ROLLOUT_DRAINED_AFTER,
	ROLLOUT_PROXIES,
	ROLLOUT_IS_DRAINED,
	ROLLOUT_CANARY_NAME,
	ROLLOUT_CANARY_WAIT,
	ROLLOUT_STEP_LIMIT,
	ROLLOUT_STAY,
	ROLLOUT_DETACH,
	ROLLOUT_WAIT,
	ROLLOUT_TIMEOUT,
	ROLLOUT_WATCH,
	ROLLOUT_JSON,
};

/* The steps of a folder that `plan --write` made. */
struct approved {
	const char *dir; /* borrowed */
	char *texts[PLAN_MAX_STEPS + 1]; /* [0]: the table before; owned */
	uint32_t count; /* of texts */
};
bool approved_read(struct approved *approved, const char *dir);
void approved_free(struct approved *approved);

/* How to plan, and what the roll-out gets from the command line. */
struct rollout_terms {
	double max_broken; /* percent */
	uint32_t wait_s, limit_s;
	const char *without; /* NAME,NAME; NULL: none */
	const char *canary; /* NULL: none */
	uint32_t canary_s;
	const char *proxies; /* the file that names them; NULL: operators prove that they are drained */
	const struct approved *approved; /* instead of a plan; NULL: none */
	bool waits; /* follows a roll-out that is paused, too */
	uint64_t end_ms; /* clock_now_ms() at which the command ends; 0: never */
};

/* Sets `by` to the user and the host. */
void rollout_sign(struct rollout *rollout);
/* Adds the names to those that do not count. */
bool rollout_leave_out(struct rollout *rollout, const char *names);

/* Adds the operations that abort a roll-out, without its document. */
void rollout_add_end(const struct session *session, const struct rollout *rollout, json_t *operations);

/*
 * Plans the way from the table in etcd to a text, prints it, and writes it as one transaction. back: the roll-out that
 * this takes back; NULL: none. Returns COMMAND_OK or the exit code.
 */
int rollout_begin(struct session *session, const char *path, const char *text, const struct rollout *back,
	const struct rollout_terms *terms);

/* Sets `drains`: the proxies that leave, with the hosts that the file names. Each must reply now. */
bool rollout_set_drains(struct rollout *rollout, const struct plan_input *input, const char *file);

/* Prints the state; with --watch, or as `follow`, a line for each change until the roll-out no longer runs. */
int rollout_show(struct session *session, const struct rollout_terms *terms, bool watch, bool json);
int rollout_follow(struct session *session, const struct rollout_terms *terms);
int rollout_history(struct session *session, bool json);
