/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to the service manager (sd_notify(3)) and its watchdog. They do nothing when no service manager started the
 * program. A library apart, so that the pure modules do not link libsystemd. Thread-safe.
 */
#ifndef GLB_COMMON_SERVICE_H
#define GLB_COMMON_SERVICE_H

#include <stdint.h>

/* The start, or the reload that service_reloading() announced, is over. */
void service_ready(void);

/* service_ready() with the line that `systemctl status` shows. */
void service_ready_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

void service_reloading(void);
void service_stopping(void);

/* The watchdog kills the program after this time without a service_alive(), in microseconds. 0: there is no watchdog. */
uint64_t service_watchdog_us(void);
void service_alive(void);

#endif
