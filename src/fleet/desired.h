/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table that this director shall use: the value of PREFIX/table. It decides which value is tried, and when. The
 * last good table stays in use in every case of doubt. One thread.
 */
#pragma once

#include <sys/stat.h>

#include "etcd/etcd.h"
#include "fleet/apply.h"
#include "fleet/job.h"
#include "fleet/state.h"

struct desired_numbers {
	uint64_t applied, refused, failed, edited; /* counters */
};

struct desired {
	const struct fleet_conf *conf;
	struct state state;
	/* The newest value: owned, NULL: none was read since the start, or the key is gone. */
	char *text;
	uint64_t revision; /* of the newest value, or of its deletion */
	bool gone; /* the key does not exist */
	bool unconfirmed; /* etcd went back, so the value waits for `glb-fleet accept` */
	bool waits; /* the value shall be tried */
	bool returns; /* the value is the one that was in use before desired_try(), so the guard has allowed it */
	uint64_t next_ms; /* not before this time */
	unsigned failures, repairs; /* in a row */
	/* A value that is refused, and why; refused_revision 0: none. */
	uint64_t refused_revision;
	char refusal[1024];
	char error[1024]; /* why the table is not in use yet, although it is good; "": no failure */
	/* The last good value, to repair the file: owned. */
	char *good;
	struct stat seen; /* of the table's file, when it last had what the agent has written */
	uint64_t look_ms; /* when the file is looked at again */
	struct apply apply; /* for the child process */
	char *applying; /* owned: the value that the child process applies; NULL: it applies none */
	uint64_t applying_revision;
	bool unsaved; /* `state` is not in its file yet */
	bool changed; /* it has changed since the child process began to write it */
	uint64_t save_ms; /* not before this time */
	/* The binary table that was built, but that the director was not seen to use: "": none. */
	char tried[TEXT_HEX64];
	uint64_t tried_revision;
	struct desired_numbers numbers;
};

void desired_open(struct desired *desired, const struct fleet_conf *conf);
void desired_close(struct desired *desired);

/* Takes what the mirror of PREFIX/table has read. `cluster`: of etcd. */
void desired_take(struct desired *desired, const struct etcd_kv *kv, uint64_t cluster);

/* Tries a table that is not the one of PREFIX/table. text: NULL: it is refused, because it is not that of the plan. */
void desired_try(struct desired *desired, const char *text, uint64_t revision);

/* The operator says that what etcd has now shall be used, although etcd went back. */
void desired_accept(struct desired *desired, uint64_t cluster);

/* Tries again now what has failed or was refused. */
void desired_retry(struct desired *desired);

/* Starts a child process that writes state_file if `state` has changed, because a disk may hang. `job` must be idle.
 * Returns true if it did. */
bool desired_save(struct desired *desired, struct job *job);
void desired_saved(struct desired *desired, const json_t *result);

/* Starts a child process if there is something to apply. `job` must be idle. Returns true if it did. */
bool desired_start(struct desired *desired, struct job *job);

/* Takes its result; NULL: job->note says why there is none. */
void desired_finish(struct desired *desired, const struct job *job, const json_t *result);
