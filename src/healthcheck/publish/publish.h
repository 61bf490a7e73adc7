/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes dst, a copy of src with `healthy` set for every backend and with the states that health has replaced, and then
 * runs the reload hook. dst is replaced
 * atomically, and only if its content changes. Verdicts that change together are written together. A failed write
 * leaves the old dst in place and is retried with backoff. If another program changes or removes dst or the binary
 * table, both are made again. Everything runs in the event loop's thread.
 */
#pragma once

#include "healthcheck/core/checklist.h"
#include "healthcheck/publish/history.h"
#include "healthcheck/publish/reload_hook.h"
#include "healthcheck/publish/verdicts.h"

struct publisher {
	struct ev_loop *loop;
	const struct conf *conf;
	struct checklist *list;
	struct damper_batch batch;
	struct reload_hook reload_hook;
	/* Run until the next write, and until the next look at what was written. */
	ev_timer timer, look;
	double look_s;
	/* Looks in a row that found another process's work. */
	unsigned repairs;
	/* Status of dst when it was last read or written; all zeros: there was none. */
	struct stat seen;
	/* The list is new: do not wait for the batch, and run the reload hook even if dst does not change. */
	bool urgent;
	/* Time (clock_now_ms()) until which the write waits for first results. */
	uint64_t first_results_ms;
	/* Time (clock_now_ms()) before which a failed write is not retried. */
	uint64_t retry_ms;
	/* Content of dst when it was last read or written; NULL: unknown. */
	char *written;
	size_t written_size;
	/* The states of the tables in dst, and those that are recorded there. */
	struct history history;
	/* Failed writes in a row. */
	unsigned failures;
	uint64_t writes, failed_writes;
	/* Unix time of the last write; 0: none. */
	int64_t written_s;
	/* Reason of the last failure; "" after a success. */
	char error[256];
	/* The verdicts of each table when it was last compared with dst. */
	struct verdicts verdicts[TABLE_MAX_TABLES];
};

void publisher_open(struct publisher *publisher, struct ev_loop *loop, const struct conf *conf, struct checklist *list);

/* Does nothing if publisher_open() was not called. */
void publisher_close(struct publisher *publisher);

/* Schedules a write because the verdict of a check changed. See damper_batch_add(). */
void publisher_request(struct publisher *publisher, const struct check_timing *timing, bool failed);

/* Call this when the last check stops wavering: the write then need not wait for others. */
void publisher_settled(struct publisher *publisher);

/* Ends the backoff of a failed write. */
void publisher_retry(struct publisher *publisher);

/*
 * Schedules an urgent write because the list is new or an operator asked. Reads dst and writes it if its content
 * differs. The write waits for the first results of new checks, but at most wait_ms. If lists follow each other before
 * the write, the first one's limit stays: edits may come faster than results. The reload hook runs even if dst does not
 * change.
 */
void publisher_new_list(struct publisher *publisher, uint64_t wait_ms);
