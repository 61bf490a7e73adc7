/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A roll-out: the tables that a fleet uses one after the other, and how far it is. docs/reference/rollout.md is
 * normative. Pure: no jansson, no etcd, no clock; rollout_json.h reads and writes it. Allocates memory. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text.h"
#include "common/utc.h"

#define ROLLOUT_MAX_STEPS     9 /* the table before, 7 of a plan, and that of a canary */
#define ROLLOUT_MAX_DIRECTORS 2048
#define ROLLOUT_NAME_MAX      65 /* of a director, with the NUL */
#define ROLLOUT_ID_MAX        32
#define ROLLOUT_BY_MAX        128
#define ROLLOUT_REASON_MAX    512
#define ROLLOUT_SETTLE_S      3 /* the least time that all directors use a table: their health may follow late */
#define ROLLOUT_LIMIT_S       300 /* the default of limit_s */
#define ROLLOUT_SAVE_S        30 /* how often counted_s is written; a new leader waits at most so much longer */
#define ROLLOUT_GAP_MS        5000 /* the most that passes on a rollout_clock between two looks */

enum rollout_state {
	ROLLOUT_RUNNING,
	ROLLOUT_PAUSED, /* by an operator, or until one proves a wait */
	ROLLOUT_STOPPED, /* something is wrong: `reason` */
	ROLLOUT_DONE,
	ROLLOUT_ABORTED,
};

/* What a plan waits for after all directors use a table. ROLLOUT_OLDER includes ROLLOUT_DRAINED. */
enum rollout_wait {
	ROLLOUT_NO_WAIT,
	ROLLOUT_DRAINED, /* the proxies that leave have no connections */
	ROLLOUT_OLDER, /* the connections that began before this table have ended */
	ROLLOUT_CANARY, /* of no plan: for wait_s, `canary` alone uses the step, and the others the one before */
};

struct rollout_step {
	char fingerprint[TEXT_HEX64]; /* table_set_fingerprint(), which several steps may share */
	char kind[16]; /* for people: "announce" */
	uint32_t broken; /* rows */
	enum rollout_wait wait;
	uint32_t wait_s; /* the wait is over after this time; 0: an operator proves it and resumes */
};

/* A director that was alive when the step was published. */
struct rollout_seen {
	char name[ROLLOUT_NAME_MAX];
	bool healthy;
};

struct rollout {
	char id[ROLLOUT_ID_MAX];
	char takes_back[ROLLOUT_ID_MAX]; /* the roll-out of which this one is the way back; "": of none */
	enum rollout_state state;
	char by[ROLLOUT_BY_MAX], reason[ROLLOUT_REASON_MAX], began[UTC_TEXT_MAX];
	/* steps[0]: the table before. `step` is in use. */
	struct rollout_step steps[ROLLOUT_MAX_STEPS];
	uint32_t count, step;
	bool reached; /* all directors used the step, and its wait began */
	bool proved; /* an operator says that the wait is over */
	uint32_t counted_s; /* of the wait, or before `reached` of limit_s */
	uint32_t limit_s; /* in which all directors must use a step */
	/* mod_revisions of the texts of the steps, and of PREFIX/table. 0: the transaction that writes this document
	 * also writes them. */
	uint64_t plan_revision, table_revision;
	char canary[ROLLOUT_NAME_MAX]; /* uses steps[1] before the others do; "": none */
	char *drains; /* JSON: which proxies prove the waits for ROLLOUT_DRAINED; owned; NULL: operators do */
	char (*without)[ROLLOUT_NAME_MAX]; /* directors that do not count */
	size_t without_count;
	struct rollout_seen *seen;
	size_t seen_count;
};

/* What a director says: the value of its key. */
struct rollout_director {
	char name[ROLLOUT_NAME_MAX];
	char fault[ROLLOUT_REASON_MAX]; /* why the value is no record; "": it is one */
	char fingerprint[TEXT_HEX64]; /* "": it uses no table */
	char first_hops[TEXT_HEX64]; /* "": not known */
	uint64_t revision; /* of the table that it uses; 0: not from etcd */
	uint64_t refused; /* revision; 0: none */
	char refusal[ROLLOUT_REASON_MAX];
	bool healthy;
	char reasons[ROLLOUT_REASON_MAX]; /* why it is not */
	char version[64], changed[40];
};

/* Time in a phase of a roll-out. A phase is a step before or after `reached`. */
struct rollout_clock {
	char id[ROLLOUT_ID_MAX];
	uint32_t step;
	bool reached;
	uint64_t last_ms, counted_ms;
};

/* What a leader sees. */
struct rollout_view {
	const struct rollout_director *directors;
	size_t count;
	bool truncated; /* there are more directors */
	uint64_t table_revision; /* of the table in etcd; 0: none */
	uint64_t phase_ms; /* rollout_clock_ms() */
	bool drained; /* the proxies have proved it in this phase */
	const char *drain; /* why they have not; NULL: not known */
};

enum rollout_verdict {
	ROLLOUT_KEEP, /* change nothing yet */
	ROLLOUT_REACH, /* all directors use the step */
	ROLLOUT_LOSE, /* they did, but no longer do */
	ROLLOUT_ADVANCE, /* publish the next step */
	ROLLOUT_PAUSE,
	ROLLOUT_STOP,
	ROLLOUT_FINISH,
};

/* Says what to do with a roll-out that is running. `reason` is that of a pause or a stop, or what it waits for. */
enum rollout_verdict rollout_judge(
	const struct rollout *rollout, const struct rollout_view *view, char reason[ROLLOUT_REASON_MAX]);

/*
 * Carries out a verdict in the document. ROLLOUT_ADVANCE: the caller writes the table of the new step in the same
 * transaction. False: out of memory.
 */
bool rollout_apply(
	struct rollout *rollout, enum rollout_verdict verdict, const struct rollout_view *view, const char *reason);

/*
 * Lets a roll-out go on that is paused or stopped. One that paused until an operator proves its wait takes the wait for
 * proved. One that stopped begins the phase again: nobody knows what directors did meanwhile.
 */
void rollout_resume(struct rollout *rollout);
/* Returns true if the canary uses `step`, and the others use the step before. */
bool rollout_is_canary(const struct rollout *rollout);
/* Returns the revision of the table that the director must use. The canary reads the text of its step. */
uint64_t rollout_revision_of(const struct rollout *rollout, const char *name);

/* Returns true if the proxies must prove the wait, and time alone or an operator who resumes after a pause does not. */
bool rollout_asks_proxies(const struct rollout *rollout);
/* Returns true if it is paused until an operator proves the wait. */
bool rollout_asks(const struct rollout *rollout);

/* Replaces `seen` by the directors that count. False: out of memory. */
bool rollout_see(struct rollout *rollout, const struct rollout_director *directors, size_t count);
/* False: out of memory, or there are too many. */
bool rollout_add_without(struct rollout *rollout, const char *name);
bool rollout_is_without(const struct rollout *rollout, const char *name);

/* Returns true if the roll-out is neither done nor aborted. */
bool rollout_is_active(const struct rollout *rollout);

/*
 * Returns the time in this phase. A new leader goes on from counted_s, which is at most ROLLOUT_SAVE_S old. Time in
 * which the leader did not look does not count beyond ROLLOUT_GAP_MS: the wait is longer then, never shorter.
 */
uint64_t rollout_clock_ms(struct rollout_clock *clock, const struct rollout *rollout, uint64_t now_ms);

#define ROLLOUT_KEY_MAX 384
/* Writes PREFIX/... and returns `key`. */
const char *rollout_key(const char *prefix, char key[ROLLOUT_KEY_MAX], const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns true if the name is 1 to 64 letters, digits, dots, underscores and dashes. */
bool rollout_is_name(const char *text);

const char *rollout_state_name(enum rollout_state state);
const char *rollout_wait_name(enum rollout_wait wait);
void rollout_free(struct rollout *rollout);
