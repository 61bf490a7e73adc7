/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the director's counters were in the last minutes, so that a page has rates and sparklines without scripts. The
 * HTTP thread samples the counters and reads the history; nobody else touches it. Its size is fixed, but for the
 * backends of the table.
 */
#pragma once

#include <stdint.h>

#include "director/page/series.h"
#include "director/view/view.h"

#define HISTORY_INTERVAL_MS 5000

/* The rates of the table in a slot of struct reload. */
struct history_table {
	/* Name of the table that the rates are about, as in struct reload_slot. */
	char name[RELOAD_NAME_SIZE];
	struct series packets, bytes;
};

struct history_lcore {
	/* Microseconds in which the lcore was busy, and frames that it received. */
	struct series busy, received;
	/* The longest gap between two polls in each sample, as the index of its bucket plus 1; 0: none. */
	uint8_t gaps[SERIES_SAMPLES];
	uint64_t counts[POLL_GAPS_BOUNDS + 1];
};

struct history_port {
	struct series rx, tx, rx_bytes, tx_bytes;
};

/* The counts of all backends of a table at some time. */
struct history_baseline {
	/* In ns of clock_now_ns(); 0: there is none. */
	uint64_t at_ns;
	/* The number of backends, and how many of them, the first ones, have counts already. */
	uint32_t size, known;
	/* Same indices as routes->addresses. */
	struct forwarded *counts;
};

struct history {
	struct director *director;
	struct reload *reload;
	/* When the last sample was taken, in ns of clock_now_ns(); 0: there is none. */
	uint64_t sampled_ns;
	/* The last sample in all rings. */
	unsigned index;
	/* Between the last two samples. */
	double seconds;
	/* The table that the last sample goes on with. */
	uint32_t next_table;
	struct series counters[COUNTERS_VALUES];
	/* The sum of all verdicts that drop. */
	struct series drops;
	struct history_table tables[RELOAD_SLOTS];
	struct history_lcore lcores[PLAN_MAX_LCORES];
	struct history_port ports[PLAN_MAX_PORTS];
	/* Counts of the table with this generation: from one to two minutes ago, and newer. A rate is the difference to
	 * the first one. */
	uint64_t generation;
	struct history_baseline baselines[2];
};

/* NULL: out of memory. */
struct history *history_open(struct director *director, struct reload *reload);
/* NULL: does nothing. */
void history_close(struct history *history);

/*
 * Takes a sample if one is due. Returns after how many milliseconds it must be called again. It holds reload.lock for
 * the time of 1024 backends, or of one table that has more, so that a reload does not wait for all of them.
 */
int history_step(struct history *history);

/* Per second. NAN: not known yet. */
struct history_rate {
	double packets, bytes;
};

/* Returns what had this backend as first hop in the last one to two minutes. reload.lock is held. */
struct history_rate history_backend(const struct history *history, const struct live_table *live, uint32_t backend);

/* Returns the upper bound of the longest gap between two polls in the last 10 minutes, in seconds. INFINITY: more than
 * the last bound. NAN: not known. */
double history_worst_gap(const struct history_lcore *lcore);
