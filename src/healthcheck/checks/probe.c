/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "healthcheck/checks/error_result.h"

static void stop(struct probe *probe)
{
	probe->running = false;
	ev_timer_stop(probe->env->loop, &probe->timeout);
	probe->method->stop(probe);
}

static void on_timeout(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct probe *probe = timer->data;

	(void)events;
	if (!probe->overdue) {
		probe->overdue = true;
		ev_timer_set(timer, 0, 0);
		ev_timer_start(loop, timer);
		return;
	}
	probe_end(probe, CHECK_TIMED_OUT, "no reply within %.0f ms", (double)(clock_now_us() - probe->started_us) / 1000);
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
	probe->running = true;
	probe->started_us = clock_now_us();
	/* Otherwise the timeout would start at the time when the loop last read the clock. */
	ev_now_update(probe->env->loop);
	ev_timer_set(&probe->timeout, timeout_ms / 1e3, 0);
	ev_timer_start(probe->env->loop, &probe->timeout);
	probe->method->start(probe);
}

void probe_cancel(struct probe *probe)
{
	if (probe->running)
		stop(probe);
}

void probe_end(struct probe *probe, enum check_result result, const char *format, ...)
{
	va_list args;

	if (!probe->running)
		return;
	va_start(args, format);
	vsnprintf(probe->reason, sizeof(probe->reason), format, args);
	va_end(args);
	probe->result = result;
	probe->latency_us = clock_now_us() - probe->started_us;
	stop(probe);
	probe->done(probe);
}

void probe_end_errno(struct probe *probe, int error)
{
	probe_end(probe, error_result_errno(error), "%s", strerror(error));
}
