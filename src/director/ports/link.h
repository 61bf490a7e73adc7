/* SPDX-License-Identifier: BSD-3-Clause */
/* The link of a port: up or down, and its speed. Asks the driver or, for a driver on a kernel interface, the kernel. Any thread. */
#ifndef GLB_DIRECTOR_PORTS_LINK_H
#define GLB_DIRECTOR_PORTS_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "director/ports/port.h"

struct link {
	bool up;
	bool missing; /* the kernel has removed the interface, and the driver cannot return to it */
	uint32_t mbps; /* Mbit/s; 0: down, or not known */
};

#define LINK_TEXT_MAX 32

/* Reads the link of a port that is started. It does not wait for the link to come up. */
struct link link_read(const struct port *port);

/* Writes "up 10000 Mbit/s", "up" or "down". Returns buf. */
const char *link_text(const struct link *link, char buf[LINK_TEXT_MAX]);

#endif
