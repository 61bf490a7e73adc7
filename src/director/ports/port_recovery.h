/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the director does about the events of its ports: it sets up a port again after a reset, and goes on without
 * a port that is gone, until its device is back. Workers stop using the port first (worker_shared_park()). Control thread, except where a
 * comment says otherwise.
 */
#ifndef GLB_DIRECTOR_PORTS_PORT_RECOVERY_H
#define GLB_DIRECTOR_PORTS_PORT_RECOVERY_H

#include "director/director.h"

/* Opens the events of all ports that are used. 0 or -errno. Main thread, before the control thread runs. */
int port_recovery_open(struct director *director);

/* Called after the control thread has ended. */
void port_recovery_close(struct director *director);

/* Returns the file descriptor that is readable when there are events. */
int port_recovery_descriptor(const struct director *director);

enum port_recovery {
	PORT_RECOVERY_NOTHING, /* no event */
	PORT_RECOVERY_EVENTS, /* the health may have changed */
	PORT_RECOVERY_WORK, /* port_recovery_run() has something to do */
};

/*
 * Takes all events, logs them, and changes the states of ports. Also called at each tick, because a reset that
 * failed is tried again, and a removed device may be back.
 */
enum port_recovery port_recovery_take(struct director *director);

/* The link of a port that runs is up again. Sets the port up again soon if its driver does not report each reset of the card. */
void port_recovery_link_is_back(struct director *director, uint16_t index);

/*
 * Resets ports, closes those that are gone, and attaches those that are back. May take seconds. Runs in a thread beside the
 * control thread, which waits for it.
 */
void *port_recovery_run(void *director);

#endif
