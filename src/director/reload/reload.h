/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the forwarding table, and replaces it while packets flow (RCU, see worker_shared.h). The functions are called
 * by one thread at a time: by the main thread, or on behalf of the control thread while that runs. Only the control
 * thread publishes a table, so it may read the table in use. Other threads, except workers, hold `lock` while they read
 * it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/faults.h"
#include "director/conf/conf.h"
#include "director/reload/traffic.h"
#include "worker/worker_shared.h"

#define RELOAD_ERROR_SIZE 512
#define RELOAD_NAME_SIZE  256

/*
 * Twice the number of tables. During a reload the old tables have slots and the new ones, too, and these may all have
 * other names.
 */
#define RELOAD_SLOTS (2 * TABLE_MAX_TABLES)

/* A slot belongs to a table. A later table with the same name takes it over; one without a name, with the same first
 * bind. */
struct reload_slot {
	char name[RELOAD_NAME_SIZE]; /* of the table, see identify(); "": the slot is free */
	struct traffic traffic;
};

/* A load of the table, whether it succeeded or failed. */
struct reload_record {
	uint64_t at; /* Unix time in seconds */
	uint64_t generation, digest; /* of the table that was in use afterwards */
	char error[RELOAD_ERROR_SIZE]; /* why it failed; "": it succeeded */
};

#define RELOAD_RECORDS 8

/* Next hops that were replaced, until no worker uses them. */
struct reload_retired {
	struct reload_retired *next;
	struct next_hops *next_hops;
	uint64_t token; /* of RCU */
};

/* Returns the next hops of a port for the routes. The caller owns them. NULL: out of memory. */
typedef struct next_hops *reload_make_next_hops(void *context, const struct routes *routes, uint16_t port);

struct reload {
	const char *path; /* of the forwarding table; borrowed */
	struct stat tried_file; /* the file that the last load began to read */
	const struct conf *conf; /* borrowed */
	unsigned max_shrink; /* percent, see table/table_guard.h */
	struct worker_shared *shared; /* borrowed; `live` is replaced under the lock */
	struct live_table *replaced; /* between reload_publish() and reload_finish(): the table before */

	/* Filled by the control thread's start, see reload_next_hops.h. */
	reload_make_next_hops *next_hops;
	void *next_hops_context;
	uint16_t port_count;
	struct reload_retired *retired;

	/* Protects the members below. Also keeps shared->live from being freed while a thread that is no worker reads
	 * it. */
	pthread_mutex_t lock;
	uint64_t reloads, failures; /* number of reloads that succeeded, and that failed */
	uint64_t loaded; /* Unix time in seconds at which the table in use was loaded */
	uint64_t tried; /* Unix time in seconds of the last reload; 0: never */
	char last_error[RELOAD_ERROR_SIZE]; /* why the last reload failed; "": it succeeded, or there was none */
	unsigned record_count; /* number of loads; load i is in records[i % RELOAD_RECORDS] */
	struct reload_record records[RELOAD_RECORDS];
	struct reload_slot slots[RELOAD_SLOTS];
	uint32_t sampled_next; /* for reload_guard_sample() */
};

/*
 * Loads the file `path` for the first time. Fills shared->live, and shared->qsbr for `workers` workers. *shared,
 * path and *conf must exist until reload_close(). 0, or -errno with an error in faults. Then the caller sets
 * max_shrink.
 */
int reload_open(struct reload *reload, struct worker_shared *shared, const char *path, const struct conf *conf,
	unsigned workers, struct faults *faults);

/* Makes the counts of the first table's backends for this number of workers. Called before workers run. 0,
 * or -ENOMEM. */
int reload_count_backends(struct reload *reload, unsigned workers);

/*
 * Loads the file again. Refuses a table that empties the service, unless `force`. The caller calls
 * reload_publish(). NULL: the old table stays in use, and last_error says why.
 */
struct live_table *reload_load(struct reload *reload, bool force);

/* Returns whether the path names another file, or another version of it, than the last load read. False if there is
 * none. */
bool reload_is_due(const struct reload *reload);

/*
 * Gives the new table its next hops and publishes it. Control thread. Then the caller calls reload_finish(). 0, or
 * -errno: the old table stays in use, and last_error says why.
 */
int reload_publish(struct reload *reload, struct live_table *live);

/* Locks the table in use for a thread that is no worker, until reload_unlock(). The control thread waits meanwhile. */
const struct live_table *reload_lock(struct reload *reload);
void reload_unlock(struct reload *reload);

/* Returns what the file of the table was: "JSON", "version 2" or "version 3". */
const char *reload_format_name(const struct live_table *live);

/* Waits until no worker uses the old table any more, and frees that. */
void reload_finish(struct reload *reload);

/* Frees the table. No worker runs any more. Does nothing if reload_open() was not called. */
void reload_close(struct reload *reload);
