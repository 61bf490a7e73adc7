/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides when each check starts: a heap of entries, ordered by due time. Pure: callers pass the time, in milliseconds
 * of clock_now_ms(). The caller owns the entries.
 *
 * Every entry is due once in interval_ms and keeps its phase, so that starts stay spread. A missed start is skipped. At
 * most max_running entries run at once. The others wait in the order of their due times.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scheduler_entry {
	uint64_t due_ms;
	unsigned interval_ms;
	/* Position in the heap, from 1; 0: not in the heap. */
	size_t place;
	bool running;
};

struct scheduler {
	struct scheduler_entry **heap;
	size_t count, capacity;
	unsigned running, max_running;
	/* Starts that waited because max_running entries were running. */
	uint64_t delayed;
};

#define SCHEDULER_NEVER UINT64_MAX

/* Makes room for `count` entries in all. Returns false if out of memory. */
bool scheduler_reserve(struct scheduler *scheduler, size_t count);
void scheduler_free(struct scheduler *scheduler);

/* Adds an entry whose first start is due at due_ms. scheduler_reserve() must have made room for it. */
void scheduler_add(struct scheduler *scheduler, struct scheduler_entry *entry, uint64_t due_ms, unsigned interval_ms);

/* Removes an entry, which may be running. */
void scheduler_remove(struct scheduler *scheduler, struct scheduler_entry *entry);

/* Returns the next entry to start, and counts it as running. NULL: none is due, or max_running entries are running. */
struct scheduler_entry *scheduler_start(struct scheduler *scheduler, uint64_t now_ms);

/* Ends the run of an entry and computes its next due time. */
void scheduler_done(struct scheduler *scheduler, struct scheduler_entry *entry, uint64_t now_ms);

/*
 * Returns the milliseconds until an entry can start. SCHEDULER_NEVER: there is none, or none before a running entry is
 * done.
 */
uint64_t scheduler_wait(const struct scheduler *scheduler, uint64_t now_ms);

/* Returns the wait in ms before the first start of entry i (from 0) of n. The starts are spread evenly over span_ms. */
static inline uint64_t scheduler_offset(size_t i, size_t n, unsigned span_ms)
{
	return n ? (uint64_t)span_ms * i / n : 0;
}
