/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/notify.h"

#include <inttypes.h>

#include <systemd/sd-daemon.h>

#include "common/clock.h"

void notify_ready(const struct director *director)
{
	const struct reload *reload = &director->reload;
	const struct reload_live *live = reload->live;

	sd_notifyf(0, "READY=1\nSTATUS=%" PRIu32 " tables, generation %" PRIu64 ", digest %016" PRIx64 "%s%s",
		live->routes->set.count, live->generation, live->routes->digest,
		reload->last_error[0] ? "; last reload failed: " : "", reload->last_error);
}

void notify_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_now_us());
}

void notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

uint64_t notify_watchdog_us(void)
{
	uint64_t interval;

	return sd_watchdog_enabled(0, &interval) > 0 ? interval : 0;
}

void notify_alive(void)
{
	sd_notify(0, "WATCHDOG=1");
}
