/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/core/scheduler.h"

#include <stdlib.h>

bool scheduler_reserve(struct scheduler *scheduler, size_t count)
{
	struct scheduler_entry **heap;

	if (count <= scheduler->capacity)
		return true;
	heap = realloc(scheduler->heap, count * sizeof(struct scheduler_entry *));
	if (!heap)
		return false;
	scheduler->heap = heap;
	scheduler->capacity = count;
	return true;
}

void scheduler_free(struct scheduler *scheduler)
{
	free(scheduler->heap);
	*scheduler = (struct scheduler){0};
}

static void put(struct scheduler *scheduler, struct scheduler_entry *entry, size_t place)
{
	scheduler->heap[place - 1] = entry;
	entry->place = place;
}

static struct scheduler_entry *at(const struct scheduler *scheduler, size_t place)
{
	return scheduler->heap[place - 1];
}

static void sift_up(struct scheduler *scheduler, struct scheduler_entry *entry)
{
	size_t place = entry->place;

	for (; place > 1 && at(scheduler, place / 2)->due_ms > entry->due_ms; place /= 2)
		put(scheduler, at(scheduler, place / 2), place);
	put(scheduler, entry, place);
}

static void sift_down(struct scheduler *scheduler, struct scheduler_entry *entry)
{
	size_t place = entry->place, child;

	for (; (child = 2 * place) <= scheduler->count; place = child) {
		if (child < scheduler->count && at(scheduler, child + 1)->due_ms < at(scheduler, child)->due_ms)
			child++;
		if (at(scheduler, child)->due_ms >= entry->due_ms)
			break;
		put(scheduler, at(scheduler, child), place);
	}
	put(scheduler, entry, place);
}

static void push(struct scheduler *scheduler, struct scheduler_entry *entry)
{
	scheduler->count++;
	put(scheduler, entry, scheduler->count);
	sift_up(scheduler, entry);
}

static void take_out(struct scheduler *scheduler, struct scheduler_entry *entry)
{
	struct scheduler_entry *last = at(scheduler, scheduler->count);
	size_t place = entry->place;

	scheduler->count--;
	entry->place = 0;
	if (last == entry)
		return;
	put(scheduler, last, place);
	sift_up(scheduler, last);
	sift_down(scheduler, last);
}

void scheduler_add(struct scheduler *scheduler, struct scheduler_entry *entry, uint64_t due_ms, unsigned interval_ms)
{
	*entry = (struct scheduler_entry){.due_ms = due_ms, .interval_ms = interval_ms};
	push(scheduler, entry);
}

void scheduler_remove(struct scheduler *scheduler, struct scheduler_entry *entry)
{
	if (entry->running)
		scheduler->running--;
	if (entry->place)
		take_out(scheduler, entry);
	entry->running = false;
}

struct scheduler_entry *scheduler_start(struct scheduler *scheduler, uint64_t now_ms)
{
	struct scheduler_entry *entry;

	if (scheduler->count == 0 || at(scheduler, 1)->due_ms > now_ms)
		return NULL;
	if (scheduler->running >= scheduler->max_running) {
		scheduler->delayed++;
		return NULL;
	}
	entry = at(scheduler, 1);
	take_out(scheduler, entry);
	entry->running = true;
	scheduler->running++;
	return entry;
}

void scheduler_done(struct scheduler *scheduler, struct scheduler_entry *entry, uint64_t now_ms)
{
	uint64_t late = now_ms > entry->due_ms ? now_ms - entry->due_ms : 0;

	entry->running = false;
	scheduler->running--;
	/* Skip missed starts: the next due time is the first in the entry's phase that is not in the past. */
	entry->due_ms += entry->interval_ms * (late ? (late - 1) / entry->interval_ms + 1 : 1);
	push(scheduler, entry);
}

uint64_t scheduler_wait(const struct scheduler *scheduler, uint64_t now_ms)
{
	uint64_t due;

	if (scheduler->count == 0 || scheduler->running >= scheduler->max_running)
		return SCHEDULER_NEVER;
	due = at(scheduler, 1)->due_ms;
	return due > now_ms ? due - now_ms : 0;
}
