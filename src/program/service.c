/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/service.h"

#include <inttypes.h>
#include <stdio.h>

#include <systemd/sd-daemon.h>

#include "common/clock.h"

void service_ready(void)
{
	sd_notify(0, "READY=1");
}

static const char *clean(const char *status, char buf[1024])
{
	size_t i = 0;

	for (; status[i] && i < 1023; i++)
		buf[i] = status[i] >= ' ' && status[i] <= '~' ? status[i] : '?';
	buf[i] = '\0';
	return buf;
}

void service_ready_status(const char *status)
{
	char buf[1024];

	sd_notifyf(0, "READY=1\nSTATUS=%s", clean(status, buf));
}

void service_status(const char *status)
{
	char buf[1024];

	sd_notifyf(0, "STATUS=%s", clean(status, buf));
}

void service_starting(uint64_t within_us, const char *status)
{
	char buf[1024];

	sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=%s", within_us, clean(status, buf));
}

void service_stopping_status(uint64_t within_us, const char *status)
{
	char buf[1024];

	sd_notifyf(0, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=%s", within_us, clean(status, buf));
}

void service_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_now_us());
}

void service_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

uint64_t service_watchdog_us(void)
{
	uint64_t interval;

	return sd_watchdog_enabled(0, &interval) > 0 ? interval : 0;
}

void service_alive(void)
{
	sd_notify(0, "WATCHDOG=1");
}
