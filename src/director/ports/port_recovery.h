/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the director does about the events of its ports: it sets up a port again after a reset, and goes on without a
 * port that is gone, until its device is back. Workers stop using the port first (worker_shared_park()). The control
 * thread calls the functions, except where a comment says otherwise. A driver may take seconds for this, or wait for a
 * card for ever, so another thread asks the driver.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct port;
struct ports;

/* The thread that resets ports, closes those that are gone, and attaches those that are back: one after the other. */
struct port_recovery {
	pthread_t thread;
	bool runs; /* the thread has not been joined */
	bool done; /* atomic; the thread has nothing left to do */
	const struct port *port; /* atomic; on which it works */
};

/* Makes what the events of ports need. 0, or -errno after logging why. Main thread, before port_events_open(). */
int port_recovery_open(struct ports *ports);

/*
 * Waits for the thread, and closes the events. If a card does not answer, the process ends here. Main thread, after the
 * control thread has ended.
 */
void port_recovery_close(struct ports *ports);

/* Returns the file descriptor that is readable when port_recovery_step() has something to do. */
int port_recovery_descriptor(const struct ports *ports);

enum port_recovery_found {
	PORT_RECOVERY_NOTHING, /* no event */
	PORT_RECOVERY_EVENTS, /* the health may have changed */
	PORT_RECOVERY_DONE, /* ports were reset, closed or attached */
};

/*
 * Takes all events, logs them, changes the states of ports, and starts the thread if it has something to do. While the
 * thread runs, events wait. Also called at each tick, because a reset that failed is tried again, and a removed device
 * may be back.
 */
enum port_recovery_found port_recovery_step(struct ports *ports);

/* The link of a port that runs is up again. Sets the port up again soon if its driver does not report each reset of the
 * card. */
void port_recovery_link_is_back(struct ports *ports, uint16_t index);
