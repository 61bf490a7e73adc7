/* SPDX-License-Identifier: BSD-3-Clause */
/* What `rollout`, `fleet` and `doctor --fleet` read from etcd, and the transactions of `rollout`. One thread; blocks.
 * All functions print their errors, unless the session is quiet. */
#pragma once

#include "etcd/etcd.h"
#include "fleet/fleet_conf.h"
#include "rollout/rollout.h"

struct session {
	const char *path; /* fleet.conf; borrowed */
	struct fleet_conf conf;
	struct etcd *etcd;
	bool quiet; /* etcd_state() has the error of etcd, which is not printed */
	/* session_read() sets the rest. Texts are NULL, and revisions 0, if there is no such key. */
	char *table, *leader;
	uint64_t table_revision, rollout_revision;
	bool wrote; /* a transaction succeeded */
	bool late; /* the last one changed nothing, because somebody else wrote first */
	bool puts_table; /* session_write() also writes `table`, which is not that of etcd */
	struct rollout rollout; /* id "": there was none */
	char fault[ROLLOUT_REASON_MAX]; /* why the key is no roll-out; "": it is one, or there is none */
	struct rollout_director *directors;
	size_t director_count;
	bool truncated;
};

/* The caller calls session_close() in any case. */
bool session_open(struct session *session, const char *path);
bool session_read(struct session *session);
void session_close(struct session *session);

/* Returns the text of a key; NULL: there is none, after an error. */
char *session_text(struct session *session, const char *key, uint64_t *revision);

/* Calls `take` for each key with this prefix. */
bool session_each(struct session *session, const char *prefix, unsigned limit,
	void (*take)(void *data, const struct etcd_kv *kv), void *data);

/*
 * Writes the document with the operations, which it takes, if the roll-out and the table are still those that were
 * read. False: nothing is written; `late` has no message yet. `size` of the operations is said if they are too large.
 */
bool session_write(struct session *session, const struct rollout *document, json_t *operations, size_t size);

/* Fills the view of the directors, without a time. */
struct rollout_view session_view(const struct session *session);
