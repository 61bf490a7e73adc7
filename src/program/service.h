/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to the service manager and its watchdog, as sd_notify(3) describes them. They do nothing if no service
 * manager has started the program. A function that returns bool returns whether the message was sent: a service manager
 * that does not read its socket gets none, and the program goes on after two seconds. It is a separate library, so that
 * other programs and tests need not link libsystemd. Thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reports that the start has ended, or the reload that service_reloading() has announced. */
bool service_ready(void);

/*
 * `status` is the line that `systemctl status` shows. It may be cut; '?' replaces each character that is not printable
 * ASCII, because the service manager would take a new line for another message, and reject broken UTF-8.
 */
bool service_ready_status(const char *status);
bool service_status(const char *status);

/* Reports that the start, or the end, may take this many microseconds from now on, whatever the configured
 * timeout is. */
void service_starting(uint64_t within_us, const char *status);
void service_stopping_status(uint64_t within_us, const char *status);

/* Report that a reload begins, and that the program is about to end. */
void service_reloading(void);
void service_stopping(void);

/* Returns the watchdog's interval in microseconds; 0: there is no watchdog. The service manager kills the program if it
 * does not call service_alive() within each interval. */
uint64_t service_watchdog_us(void);
void service_alive(void);
