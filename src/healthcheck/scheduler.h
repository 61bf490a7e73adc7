/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which check starts when, and nothing else: a heap of entries by due time. Pure: time is
 * given, entries belong to the caller.
 *
 * An entry comes up every interval_ms at its own phase, so that starts stay spread; a start that
 * is missed is skipped, not made up for. At most max_running entries run at once; the others wait
 * in the order in which they were due.
 */
#ifndef GLB_HEALTHCHECK_SCHEDULER_H
#define GLB_HEALTHCHECK_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scheduler_entry {
	uint64_t due_ms;
	unsigned interval_ms;
	size_t place; /* in the heap, from 1; 0: not in it */
	bool running;
};

struct scheduler {
	struct scheduler_entry **heap;
	size_t count, capacity;
	unsigned running, max_running;
	uint64_t delayed; /* starts that had to wait for others to end */
};

#define SCHEDULER_NEVER UINT64_MAX

/* Room for `count` entries in all; false: out of memory. */
bool scheduler_reserve(struct scheduler *scheduler, size_t count);
void scheduler_free(struct scheduler *scheduler);

/* First start at due_ms. There must be room. */
void scheduler_add(struct scheduler *scheduler, struct scheduler_entry *entry, uint64_t due_ms, unsigned interval_ms);

/* Running or not, it is forgotten. */
void scheduler_remove(struct scheduler *scheduler, struct scheduler_entry *entry);

/* The next entry to start, which counts as running from now on; NULL: none is due, or too many run.
 */
struct scheduler_entry *scheduler_start(struct scheduler *scheduler, uint64_t now_ms);

/* It has ended, and comes up again. */
void scheduler_done(struct scheduler *scheduler, struct scheduler_entry *entry, uint64_t now_ms);

/* Milliseconds until scheduler_start() has something; SCHEDULER_NEVER: not before another is done.
 */
uint64_t scheduler_wait(const struct scheduler *scheduler, uint64_t now_ms);

/* When the i-th of n new entries starts first, after now: evenly spread over a span. */
static inline uint64_t scheduler_offset(size_t i, size_t n, unsigned span_ms)
{
	return n ? (uint64_t)span_ms * i / n : 0;
}

#endif
