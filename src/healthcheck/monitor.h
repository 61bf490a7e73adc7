/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon without its process: reads src, starts the checks when the scheduler says, gives
 * their results to the dampers, and tells the publisher of verdicts that changed.
 */
#ifndef GLB_HEALTHCHECK_MONITOR_H
#define GLB_HEALTHCHECK_MONITOR_H

#include "healthcheck/checklist.h"
#include "healthcheck/publish/publish.h"

struct monitor_counters {
	uint64_t probes[CHECK_KIND_COUNT][CHECK_RESULT_COUNT];
	uint64_t latency_us[CHECK_KIND_COUNT]; /* of those that passed */
	uint64_t transitions, loads, failed_loads;
};

struct monitor {
	struct ev_loop *loop;
	const struct conf *conf;
	struct check_env env;
	struct checklist list;
	struct scheduler scheduler;
	struct publisher publisher;
	struct monitor_counters counters;
	char *text; /* src, as it was last looked at */
	size_t text_size;
	char error[256]; /* why the last src was refused; "": it was not */
	ev_timer start, save;
	/* --check-once: every check runs once, nothing is written; called when all are done. */
	void (*on_all_done)(struct monitor *monitor);
	uint32_t left;
	bool ready; /* every check had time for its first result */
	void (*on_ready)(struct monitor *monitor);
	ev_timer ready_timer;
};

/* Reads src and, unless it is for once, the state file. 0; or -errno, with errors in faults. */
int monitor_open(struct monitor *monitor, struct ev_loop *loop, const struct conf *conf,
	void (*on_all_done)(struct monitor *), struct faults *faults);

/* Writes the state file. */
void monitor_close(struct monitor *monitor);

/* Reads src again. asked: by an operator, so it is done even if the file did not change. */
void monitor_reload(struct monitor *monitor, bool asked);

#endif
