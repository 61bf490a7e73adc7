/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: progress of the workers. */
#include "director/director.h"
#include "director/health/health_watch.h"
#include "program/log.h"
#include "worker/worker.h"

/* A worker that sleeps wakes up several times per tick. */
bool health_workers_sample(struct director *director)
{
	struct health_memory *memory = &director->memory;
	bool alive = true;

	for (uint16_t i = 0; i < director->worker_count; i++) {
		const struct worker *worker = director->workers[i];
		uint64_t polls = __atomic_load_n(&worker->counters.polls, __ATOMIC_RELAXED);

		memory->stuck[i] = polls == memory->polls[i];
		memory->polls[i] = polls;
		alive &= !memory->stuck[i];
		if (memory->stuck[i])
			log_limited(LOG_LEVEL_ERROR,
				"lcore %u is stuck: it has finished no iteration since the last check, so the watchdog gets no sign of life",
				worker->lcore);
	}
	return alive;
}

void health_workers(struct director *director, struct health_report *report)
{
	char object[HEALTH_OBJECT_SIZE];

	for (uint16_t i = 0; i < director->worker_count; i++) {
		if (!director->memory.stuck[i])
			continue;
		snprintf(object, sizeof(object), "lcore %u", director->workers[i]->lcore);
		health_add(report, HEALTH_WORKER_STUCK, HEALTH_FAILS, object,
			"it makes no progress, so the packets of its queues are lost: see whether its CPU is shared or its driver hangs");
	}
}
