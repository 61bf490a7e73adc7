/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/rows/table_build.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "table/rows/table_build_matched.h"
#include "table/rows/table_rows_isa.h"
#include "table/table_share.h"

/* A thread takes one chunk at a time. Chunks are small, so that the threads end at nearly the same time. */
#define CHUNK_ROWS 4096u
#define CHUNKS     (TABLE_ROWS / CHUNK_ROWS) /* per table */

_Static_assert(CHUNK_ROWS % TABLE_ROWS_BLOCK == 0, "a chunk must be whole blocks");

struct build {
	table_rows_fn *fill;
	struct table_rows_job *jobs; /* one per table; without rows if an earlier table has the same input */
	uint32_t chunk_count;
	const struct table_set *set;
	atomic_bool failed; /* out of memory */
	atomic_uint_fast32_t next; /* the next chunk that a thread takes */
};

static void job_close(const struct table_rows_job *job)
{
	free((void *)job->candidates);
	free(job->rows);
}

static int job_open(const struct table *table, struct table_rows_job *job)
{
	struct table_candidate *candidates = calloc(table->backend_count + 1, sizeof(*candidates));
	uint32_t count = candidates ? table_rows_candidates(table, candidates) : 0;
	unsigned row_hops = count < table->hops ? count : table->hops;

	*job = (struct table_rows_job){
		.seed = table->seed,
		.candidates = candidates,
		.candidate_count = count,
		.row_hops = row_hops,
		.weighted = table_rows_weighted(candidates, count),
		.rows = count ? malloc(sizeof(*job->rows) * TABLE_ROWS * row_hops) : NULL,
	};
	return job->rows ? 0 : candidates && !count ? -EINVAL : -ENOMEM;
}

/* Fills chunks until none is left. Each thread runs it; the content of a chunk does not depend on the thread. */
static void *build_run(void *context)
{
	struct build *build = context;
	uint32_t chunk;

	while ((chunk = (uint32_t)atomic_fetch_add(&build->next, 1)) < build->chunk_count) {
		uint32_t first = chunk % CHUNKS * CHUNK_ROWS;

		const struct table *table = &build->set->tables[chunk / CHUNKS];
		struct table_rows_job *job = &build->jobs[chunk / CHUNKS];

		/* A matching needs all rows, so the first chunk of such a table is the whole table. */
		if (job->rows && !table_is_matched(table))
			build->fill(job, first, first + CHUNK_ROWS);
		else if (job->rows && first == 0 && table_build_matched(table, job->row_hops, job->rows))
			atomic_store(&build->failed, true);
	}
	return NULL;
}

/* Runs with fewer threads if pthread_create() fails. */
static void build_run_threads(struct build *build, unsigned threads)
{
	pthread_t helpers[TABLE_BUILD_MAX_THREADS - 1];
	unsigned count = 0;
	sigset_t all, old;

	/* The new threads block all signals, so that the threads that expect signals receive them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (count + 1 < threads && count + 1 < TABLE_BUILD_MAX_THREADS &&
		pthread_create(&helpers[count], NULL, build_run, build) == 0)
		count++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	build_run(build);
	while (count > 0)
		pthread_join(helpers[--count], NULL);
}

/* Leaves the rows that the table owned before in the job. */
static void take_rows(struct table *table, struct table_rows_job *job)
{
	uint16_t *old = table->borrows_rows ? NULL : table->rows;

	table->rows = job->rows;
	table->row_hops = (uint8_t)job->row_hops;
	table->borrows_rows = false;
	job->rows = old;
}

/* Opens a job for each table of `first`. `opened` counts the jobs to close. */
static int open_jobs(
	const struct table_set *set, const struct table_mask *first, struct table_rows_job *jobs, uint32_t *opened)
{
	int error = 0;

	for (*opened = 0; error == 0 && *opened < set->count; ++*opened)
		if (table_mask_has(first, *opened))
			error = job_open(&set->tables[*opened], &jobs[*opened]);
	return error;
}

int table_build_some(struct table_set *set, const struct table_mask *some, unsigned threads)
{
	struct build build = {
		.fill = table_rows_by_isa[table_rows_isa()],
		.jobs = calloc(set->count + 1, sizeof(*build.jobs)),
		.chunk_count = set->count * CHUNKS,
		.set = set,
	};
	uint32_t opened = 0, same[TABLE_MAX_TABLES];
	struct table_mask first = {0}; /* the first tables with their input */
	int error = -ENOMEM;

	table_share_inputs(set, same);
	for (uint32_t i = table_mask_next(some, 0); i < set->count; i = table_mask_next(some, i + 1))
		table_mask_add(&first, same[i]);
	if (build.jobs)
		error = open_jobs(set, &first, build.jobs, &opened);
	if (error == 0)
		build_run_threads(&build, threads);
	if (error == 0 && build.failed)
		error = -ENOMEM;
	for (uint32_t i = 0; error == 0 && i < set->count; i++) {
		take_rows(&set->tables[i], &build.jobs[i]);
		if (same[i] != i)
			table_borrow_rows(&set->tables[i], &set->tables[same[i]]);
	}
	for (uint32_t i = 0; i < opened; i++)
		job_close(&build.jobs[i]);
	free(build.jobs);
	return error;
}

int table_build(struct table_set *set, unsigned threads)
{
	const struct table_mask all = {.words = {[0 ... TABLE_MAX_TABLES / 64 - 1] = UINT64_MAX}};

	return table_build_some(set, &all, threads);
}
