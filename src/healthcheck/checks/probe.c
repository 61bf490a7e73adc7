/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "healthcheck/checks/error_result.h"
#include "program/timer.h"

static void stop(struct probe *probe)
{
	probe->running = false;
	ev_timer_stop(probe->env->loop, &probe->timeout);
	probe->method->stop(probe);
}

static void wait_longer(struct probe *probe, uint64_t us)
{
	timer_restart(probe->env->loop, &probe->timeout, (double)us / 1e6);
}

/* Returns for how long this process could not run since the probe started. */
static uint64_t stalled_us(const struct probe *probe, uint64_t now_us)
{
	return pulse_meter_stalled(&probe->env->pulse.meter, now_us) - probe->stalled_us;
}

/* The timeout does not include stalls, until they take longer than this many timeouts. */
#define STALL_TIMEOUTS_MAX 3

static void on_timeout(struct ev_loop *, ev_timer *timer, int)
{
	struct probe *probe = timer->data;
	uint64_t now = clock_now_us(), elapsed = now - probe->started_us, stalled = stalled_us(probe, now);

	if (stalled <= STALL_TIMEOUTS_MAX * probe->timeout_us && elapsed < probe->timeout_us + stalled) {
		wait_longer(probe, probe->timeout_us + stalled - elapsed);
	} else if (!probe->overdue) {
		probe->overdue = true;
		wait_longer(probe, 0);
	} else {
		probe_end(probe, CHECK_TIMED_OUT, "no reply within %.0f ms%s", (double)elapsed / 1000,
			probe->timeout_hint);
	}
}

void probe_start(struct probe *probe, unsigned timeout_ms)
{
	ev_timer_init(&probe->timeout, on_timeout, 0, 0);
	probe->timeout.data = probe;
	/*
	 * If this process was stalled, the event loop reads the replies that have arrived before it handles timeouts.
	 * If a signal or the freezer stopped the process, epoll_wait(2) was interrupted, and the loop finds these
	 * replies only in its next iteration. on_timeout() waits for that iteration.
	 */
	ev_set_priority(&probe->timeout, EV_MINPRI);
	probe->overdue = false;
	probe->tls_expires_s = 0;
	probe->state = NULL;
	probe->timeout_hint = "";
	probe->running = true;
	probe->started_us = clock_now_us();
	probe->stalled_us = pulse_meter_stalled(&probe->env->pulse.meter, probe->started_us);
	probe->timeout_us = (uint64_t)timeout_ms * 1000;
	/* It updates the loop's clock: otherwise the timeout would start when the loop last read it. */
	wait_longer(probe, probe->timeout_us);
	probe->method->start(probe);
}

void probe_close(struct probe *probe)
{
	if (probe->running)
		stop(probe);
	if (probe->method && probe->method->forget)
		probe->method->forget(probe);
}

/* True if the proxy had too little time for its reply, or may have given up because this process was stalled. */
static bool is_blameless(const struct probe *probe, uint64_t stalled)
{
	if (probe->result == CHECK_PASSED || probe->result == CHECK_NOT_RUN)
		return false;
	if (probe->result == CHECK_TIMED_OUT)
		return probe->latency_us < probe->timeout_us + stalled;
	return stalled > probe->timeout_us;
}

void probe_end(struct probe *probe, enum check_result result, const char *format, ...)
{
	uint64_t now = clock_now_us(), stalled = stalled_us(probe, now);
	va_list args;

	if (!probe->running)
		return;
	va_start(args, format);
	vsnprintf(probe->reason, sizeof(probe->reason), format, args);
	va_end(args);
	probe->result = result;
	probe->latency_us = now - probe->started_us;
	if (is_blameless(probe, stalled)) {
		probe->result = CHECK_NOT_RUN;
		snprintf(probe->reason, sizeof(probe->reason),
			"glb-healthcheck could not run for %.0f of %.0f ms: this host is too busy, or stopped it",
			(double)stalled / 1000, (double)probe->latency_us / 1000);
	}
	stop(probe);
	probe->done(probe);
}

void probe_end_errno(struct probe *probe, int error)
{
	probe_end(probe, error_result_errno(error), "%s", strerror(error));
}
