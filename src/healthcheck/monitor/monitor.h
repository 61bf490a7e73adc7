/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core of the daemon: reads src, starts the checks when the scheduler says so, passes their results to the dampers,
 * and requests a write from the publisher when a verdict changes. Everything runs in the event loop's thread.
 */
#pragma once

#include "healthcheck/core/checklist.h"
#include "healthcheck/publish/publish.h"
#include "program/facts.h"
#include "table/table_guard.h"

struct monitor_counters {
	uint64_t probes[CHECK_KIND_COUNT][CHECK_RESULT_COUNT];
	/* Sum over the probes that passed. */
	uint64_t latency_us[CHECK_KIND_COUNT];
	uint64_t transitions, loads, failed_loads;
	/* SIGHUPs that were handled. */
	uint64_t signals;
	/* Unix time when src was last loaded. */
	int64_t loaded_s;
};

/* What only pages show. monitor_look() sets it. */
struct monitor_sums {
	/* Checks, and files of trusted certificates. */
	uint32_t flapping, frozen, trust_bad;
	uint64_t trust_loads, trust_refused, delayed;
	/* The verdicts of all tables together. */
	uint32_t backends, healthy, panics;
	bool src_bad, write_failing, reload_failing, director_stale, director_unverified;
	/* Probes in progress. */
	uint32_t running;
	double stalled_s;
};

struct monitor {
	struct ev_loop *loop;
	const struct conf *conf;
	struct check_env env;
	struct checklist list;
	/* The schedulers of command checks, and of all others. */
	struct scheduler command_scheduler, scheduler;
	struct publisher publisher;
	struct monitor_counters counters;
	struct monitor_sums sums;
	/* Content of src when it was last read. */
	char *text;
	size_t text_size;
	/* Why the last src was refused; "" if it was loaded. */
	char error[TABLE_GUARD_TEXT_MAX];
	/* Run until the next probe starts, and until the state is saved. */
	ev_timer start, save;
	/* Not NULL for --check-once: every check runs once, and nothing is written. Called when all checks are done. */
	void (*on_all_done)(struct monitor *monitor);
	/* Checks that are not done yet. */
	uint32_t unfinished;
	/* Every check had time for its first result. on_ready() is called when this becomes true. */
	bool ready;
	void (*on_ready)(struct monitor *monitor);
	ev_timer ready_timer;
};

/*
 * Reads src and starts its checks. Also reads the state file and starts the publisher, unless on_all_done is given. If
 * src loses too much of dst, refuses it, and uses dst in its place.
 * Returns 0; or -errno with errors in `faults`. monitor_close() is needed in both cases.
 */
int monitor_open(struct monitor *monitor, struct ev_loop *loop, const struct conf *conf,
	void (*on_all_done)(struct monitor *), struct faults *faults);

/* Stops all checks and, unless on_all_done was given, saves the state file. */
void monitor_close(struct monitor *monitor);

/*
 * Reads src again and uses it if it is valid and does not empty the service; else logs why and keeps the table. If the
 * content did not change, nothing happens, except by_operator: then dst is checked, and the reload hook runs.
 */
void monitor_reload(struct monitor *monitor, bool by_operator);

/* Sets monitor->sums. */
void monitor_look(struct monitor *monitor);

/* The numbers of struct monitor, for /status and /metrics: those that monitor_look() finds in lists, and all others. */
extern const struct fact monitor_list_facts[], monitor_facts[];
