/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/pulse.h"

#include "common/clock.h"

void pulse_meter_sleep(struct pulse_meter *meter, uint64_t now_us)
{
	meter->stalled_us = pulse_meter_stalled(meter, now_us);
	meter->mark_us = now_us;
}

void pulse_meter_wake(struct pulse_meter *meter, uint64_t now_us)
{
	uint64_t slept = now_us - meter->mark_us;

	if (slept > PULSE_BEAT_US + PULSE_NORMAL_US)
		meter->stalled_us += slept - PULSE_BEAT_US;
	meter->mark_us = now_us;
}

uint64_t pulse_meter_stalled(const struct pulse_meter *meter, uint64_t now_us)
{
	uint64_t worked = now_us - meter->mark_us;

	return meter->stalled_us + (worked > PULSE_NORMAL_US ? worked : 0);
}

static void on_sleep(struct ev_loop *, ev_prepare *sleep, int)
{
	pulse_meter_sleep(sleep->data, clock_now_us());
}

static void on_wake(struct ev_loop *, ev_check *wake, int)
{
	pulse_meter_wake(wake->data, clock_now_us());
}

static void on_beat(struct ev_loop *, ev_timer *, int)
{
}

void pulse_open(struct pulse *pulse, struct ev_loop *loop)
{
	*pulse = (struct pulse){.loop = loop, .meter.mark_us = clock_now_us()};
	ev_prepare_init(&pulse->sleep, on_sleep);
	ev_check_init(&pulse->wake, on_wake);
	ev_timer_init(&pulse->beat, on_beat, PULSE_BEAT_US / 1e6, PULSE_BEAT_US / 1e6);
	/* Before the callbacks that do the work, and after them. */
	ev_set_priority(&pulse->wake, EV_MAXPRI);
	ev_set_priority(&pulse->sleep, EV_MINPRI);
	pulse->sleep.data = pulse->wake.data = &pulse->meter;
	ev_prepare_start(loop, &pulse->sleep);
	ev_check_start(loop, &pulse->wake);
	ev_timer_start(loop, &pulse->beat);
}

void pulse_close(struct pulse *pulse)
{
	if (!pulse->loop)
		return;
	ev_prepare_stop(pulse->loop, &pulse->sleep);
	ev_check_stop(pulse->loop, &pulse->wake);
	ev_timer_stop(pulse->loop, &pulse->beat);
	pulse->loop = NULL;
}
