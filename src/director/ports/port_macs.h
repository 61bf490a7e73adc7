/* SPDX-License-Identifier: BSD-3-Clause */
/* The MACs of ports: filters for further ones, and changes while the director runs. */
#pragma once

#include "director/ports/ports.h"

/*
 * Adds the MACs of accept_macs to the filter of a port that is set up, except MACs of kernel interfaces. Logs a warning
 * if its driver cannot do that. Main thread.
 */
void port_macs_filter(const struct port *port, const struct admission *admission);

/*
 * Looks whether the MAC of a port has changed, for example by `ip link set address` or because a VF was reset. Workers
 * then take frames to the new MAC and send from it, and the interface of the exception path gets it, too. Control
 * thread, once a second.
 */
void port_macs_follow(struct ports *ports);
