/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes dst: src with `healthy` set for every backend, whole or not at all, at most once in
 * hold_ms, and only if it changes; then runs the reload hook. A write that fails is retried with
 * backoff, and the last good table stays.
 */
#ifndef GLB_HEALTHCHECK_PUBLISH_PUBLISH_H
#define GLB_HEALTHCHECK_PUBLISH_PUBLISH_H

#include "healthcheck/checklist.h"
#include "healthcheck/publish/reload_hook.h"

struct publisher {
	struct ev_loop *loop;
	const struct conf *conf;
	struct checklist *list;
	struct damper_hold hold;
	struct reload_hook reload_hook;
	ev_timer timer;
	bool urgent; /* the list is new: do not hold, and run the reload hook in any case */
	uint64_t patience_ms; /* until when to wait for first results */
	uint64_t retry_ms; /* not before, after a failure */
	char *written; /* what dst holds, last time that we looked; NULL: unknown */
	size_t written_size;
	unsigned failures; /* in a row */
	uint64_t writes, failed_writes;
	char error[256]; /* "" after a success */
	bool panic[TABLE_MAX_TABLES];
};

void publisher_open(struct publisher *publisher, struct ev_loop *loop, const struct conf *conf, struct checklist *list);
void publisher_close(struct publisher *publisher);

/* A verdict changed. */
void publisher_request(struct publisher *publisher);

/*
 * The list is another one, or an operator asks: dst is looked at and, where it differs, written now,
 * but for first results, which are waited for until patience_ms (of the first of several lists in a
 * row: edits may come faster than results). The reload hook runs even if dst is as it should be.
 */
void publisher_new_list(struct publisher *publisher, uint64_t patience_ms);

#endif
