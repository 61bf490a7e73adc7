/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by leader.c, which decides, and leader_view.c, which mirrors etcd. */
#pragma once

#include "fleet/job.h"
#include "fleet/leader.h"

/* The mirrors. */
enum {
	LEADER_ROLLOUT, /* always */
	LEADER_NAME, /* during a roll-out */
	LEADER_TABLE, /* this and the next one only by the leader */
	LEADER_DIRECTORS,
	LEADER_KEYS,
};

struct leader_key {
	struct leader *leader;
	struct etcd_mirror *mirror; /* NULL: closed */
	uint64_t revision; /* of a single key; 0: there is none */
	bool ready;
};

struct leader {
	struct etcd *etcd;
	const char *prefix, *name;
	struct leader_key keys[LEADER_KEYS];
	struct rollout rollout;
	struct rollout_director *directors;
	size_t director_count;
	bool left_out; /* there was no memory for a director */
	uint64_t holder; /* lease under which PREFIX/leader was written */
	struct etcd_lease *lease;
	struct rollout_clock clock;
	uint64_t now_ms, not_before_ms, contest_ms, blind_ms, bad_ms; /* 0: not set */
	uint64_t calm_ms; /* no step is done before this time, because a cause of a stop has just passed */
	uint64_t replaced; /* revision of the document that this leader has replaced */
	char *text; /* of the next step, read from etcd */
	uint64_t text_revision, text_of; /* text_of: revision of the document whose next step it is */
	/* The child process that asks the proxies, what they proved in this phase, and when they are asked next. */
	struct job drain_job;
	bool drained;
	char drain[300]; /* why they are not drained; "": not known. It fits into a reason as a whole */
	uint64_t drain_ms;
	bool asking; /* a request is under way */
	/* What the request carries out, the step in use after it, and the revision of the document that it replaces. */
	enum rollout_verdict asked;
	uint32_t asked_step;
	uint64_t asked_revision;
	struct leader_state state;
};

/* False: out of memory. */
bool leader_watch(struct leader *leader, unsigned key);
void leader_unwatch(struct leader *leader, unsigned key);
/* Asks the proxies again and again while the roll-out waits for them; otherwise it forgets what they proved. */
void leader_step_drain(struct leader *leader);
void leader_end_drain(struct leader *leader);

/* Returns true if the mirror has all that etcd has. */
bool leader_sees(const struct leader *leader, unsigned key);
