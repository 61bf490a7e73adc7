/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device of a port, on DPDK's bus. The kernel waits until the director releases a device that is unplugged, or that
 * an operator unbinds. The device may come back later. Thread of port_recovery, except where a comment says otherwise.
 */
#pragma once

#include <stdbool.h>

#include "director/ports/ports.h"

/* Notes in *port how port_device_attach() finds the device again. port->info is filled. Main thread. */
void port_device_note(struct port *port);

/*
 * Stops and closes the port, and gives its device back to the bus when no other port uses the device. No worker uses
 * the port any more.
 */
void port_device_release(struct ports *ports, struct port *port);

/* Returns whether the device that was released is there again, and bound to the driver of the kernel that it had. Any
 * thread. */
bool port_device_is_back(const struct port *port);

/* Attaches the device again. It then has the same port id and name. 0, or -errno after logging why. */
int port_device_attach(struct port *port);
