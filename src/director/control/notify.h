/* SPDX-License-Identifier: BSD-3-Clause */
/* What the service manager is told (sd_notify(3)); nothing happens where there is none. Control
 * thread only. */
#ifndef GLB_DIRECTOR_CONTROL_NOTIFY_H
#define GLB_DIRECTOR_CONTROL_NOTIFY_H

#include <stdint.h>

#include "director/director.h"

/* READY=1, with a line about the table; also after a reload, with its error if it failed. */
void notify_ready(const struct director *director);

void notify_reloading(void);
void notify_stopping(void);

/* How often the watchdog wants a sign, in microseconds; 0: it does not. */
uint64_t notify_watchdog_us(void);
void notify_alive(void);

#endif
