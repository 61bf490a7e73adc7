/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs that a card does not answer while the main thread waits for its driver. The driver may wait forever. */
#ifndef GLB_DIRECTOR_STARTUP_WATCH_H
#define GLB_DIRECTOR_STARTUP_WATCH_H

#include <pthread.h>

#define STARTUP_WATCH_MS 10000

struct startup_watch {
	const char *port, *driver; /* names; borrowed */
	int patience_ms;
	int done; /* eventfd; ends the thread */
	pthread_t thread;
};

/* Returns 0 or -errno. Then the caller asks the driver, and calls startup_watch_end(). */
int startup_watch_begin(struct startup_watch *watch, const char *port, const char *driver, int patience_ms);
void startup_watch_end(struct startup_watch *watch);

#endif
