/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive interrupts of a card on vfio-pci, for lcores that sleep. The main thread calls the functions, and the thread
 * of port_recovery after a reset.
 */
#pragma once

#include <stdbool.h>

#include "director/ports/port.h"

/* Returns whether to try them, before the port is set up. Logs it if the driver of a card has none that work. */
bool port_interrupts_wanted(struct port *port, const struct conf *conf);

/* Notes the interrupts of a port that runs in port->rx_sources. Returns whether each receive queue has one
 * that works. */
bool port_interrupts_open(struct port *port);

/* Notes that the driver has none, and logs that. */
void port_interrupts_give_up(struct port *port);
