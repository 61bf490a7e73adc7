/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/service.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <systemd/sd-daemon.h>

#include "common/clock.h"

void service_ready(void)
{
	sd_notify(0, "READY=1");
}

void service_ready_status(const char *format, ...)
{
	char status[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(status, sizeof(status), format, args);
	va_end(args);
	sd_notifyf(0, "READY=1\nSTATUS=%s", status);
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
