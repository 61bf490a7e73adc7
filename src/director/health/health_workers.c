/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: progress of the workers. */
#include "director/health/health_watch.h"
#include "program/log.h"
#include "worker/worker.h"

#define SAMPLE_MS 400 /* at least, between two samples: a worker that sleeps wakes up several times meanwhile */

bool health_workers_sample(struct health_watch *watch, uint64_t now_ms)
{
	bool alive = true, due = now_ms - watch->polls_ms >= SAMPLE_MS;

	for (uint16_t i = 0; i < watch->workers->count; i++) {
		const struct worker *worker = watch->workers->list[i];
		uint64_t polls = __atomic_load_n(&worker->counters.polls, __ATOMIC_RELAXED);

		if (due) {
			watch->stuck[i] = polls == watch->polls[i];
			watch->polls[i] = polls;
		}
		alive &= !watch->stuck[i];
		if (watch->stuck[i])
			log_limited(LOG_LEVEL_ERROR,
				"lcore %u is stuck: it has finished no iteration since the last check, so the watchdog gets no sign of life",
				worker->lcore);
	}
	if (due)
		watch->polls_ms = now_ms;
	return alive;
}

void health_workers(struct health_watch *watch, struct health_report *report)
{
	char object[HEALTH_OBJECT_SIZE];

	for (uint16_t i = 0; i < watch->workers->count; i++) {
		if (!watch->stuck[i])
			continue;
		snprintf(object, sizeof(object), "lcore %u", watch->workers->list[i]->lcore);
		health_add(report, HEALTH_WORKER_STUCK, HEALTH_FAILS, object,
			"it makes no progress, so the packets of its queues are lost: see whether its CPU is shared or its driver hangs");
	}
}
