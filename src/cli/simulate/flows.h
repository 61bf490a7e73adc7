/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connections of a simulation. They are not objects: new ones begin at the same rate in each row, so all
 * connections that began in a row at one proxy, in a time without a change, are one run, and the distribution of
 * lengths says how many are left. ECMP is taken at its worst: it may send a packet of each connection to every
 * director. So a connection breaks as soon as the table of one director does not reach its proxy. Allocates memory; one
 * thread.
 */
#pragma once

#include "cli/simulate/script.h"
#include "cli/diff/holders.h"

/* A table that directors use, or will use. */
struct flows_version {
	struct table table; /* only rows, row_hops and backend_count are set; owned */
	struct holders_table view; /* of `table`; owned */
	int64_t time_ms; /* when it was published */
	uint32_t directors; /* that use it now */
};

/* Directors that are equally late. */
struct flows_lane {
	uint32_t directors;
	int64_t behind_ms;
	size_t version; /* index of the version in use */
	uint8_t *fates; /* enum flows_fate of the new connections of each row; owned */
	uint32_t rows_by_fate[3];
};

/* What happens to new connections of a row. */
enum flows_fate {
	FLOWS_KEPT,
	FLOWS_SKEWED, /* another director's table does not reach their proxy */
	FLOWS_REFUSED, /* the proxy is dead */
};

/* Connections of a row that began at one proxy, at the directors of one lane, between two times. */
struct flows_run {
	uint32_t proxy, lane;
	uint32_t begin, end; /* indexes of times_ms; end is FLOWS_OPEN if they still begin */
};

#define FLOWS_OPEN UINT32_MAX

struct flows_row {
	struct flows_run *runs; /* owned */
	uint32_t count, room;
};

/* Numbers of connections. */
struct flows_totals {
	double begun; /* with those that are there at the start */
	/* Broken, although their proxy lives: */
	double removed; /* it is not in the newest table, or inactive */
	double pushed_out; /* other proxies have the hops of the row in the newest table */
	/* The newest table reaches it, but not the one of a director that is behind; or they are new, and not all reach
	 * it */
	double skew;
	double killed; /* with their proxy */
	double refused; /* never begun, because the first hop is dead */
};

struct flows {
	const struct script *script; /* borrowed */
	struct holders names; /* numbers of proxies; its rows are not used */
	bool *dead; /* by number of a proxy; owned */
	uint32_t dead_count; /* entries of `dead` */
	bool dead_changed; /* since the last flows_publish() */
	int64_t now_ms;
	size_t version_count;
	struct flows_version **versions; /* oldest first; NULL: no lane uses it any more; owned */
	uint32_t used_count;
	const struct flows_version **used; /* the versions that directors use now, each once; owned */
	uint32_t lane_count;
	struct flows_lane *lanes; /* owned */
	struct flows_row *rows; /* TABLE_ROWS; owned */
	uint32_t time_count;
	int64_t *times_ms; /* rising; the first one is the start; owned */
	double *younger; /* lengths_younger() of the ages of times_ms at aged_ms; owned */
	int64_t aged_ms;
	uint32_t aged_count;
	struct flows_totals totals;
	bool started; /* the runs of the start are there */
};

/* The connections that are there now. */
struct flows_measure {
	double alive;
	double hops[TABLE_MAX_HOPS]; /* of them, by the hop that accepts their packets; the mean over directors */
	double blocked; /* of them, those whose packets meet a dead proxy at an earlier hop */
	double skew_percent; /* of new connections: their proxy is not reached by the table of another director */
};

/*
 * Starts with the connections that the table would have after a long time; without any if lengths are `forever`. Takes
 * over table->rows. The caller frees it.
 */
void flows_create(struct flows *flows, const struct script *script, struct table *table);
void flows_free(struct flows *flows);

/* Sets whether a proxy is dead; the connections of a dead one end with the next flows_publish(). */
void flows_set_dead(struct flows *flows, const struct netaddr *addr, bool dead);

/* A new table is there: directors use it as soon as they can. Takes over table->rows. */
void flows_publish(struct flows *flows, struct table *table);

/* Time passes. */
void flows_wait(struct flows *flows, int64_t ms);

/* Returns how long it takes until all directors use the newest table. */
int64_t flows_late_ms(const struct flows *flows);

/* Returns the number of connections of these proxies in `ms` from now if they get no new ones. `wanted` is
 * by number. */
double flows_left(const struct flows *flows, const bool *wanted, int64_t ms);

/* Returns true if one of these proxies gets new connections. */
bool flows_has_new(const struct flows *flows, const bool *wanted);

void flows_measure(struct flows *flows, struct flows_measure *measure);
