/* SPDX-License-Identifier: BSD-3-Clause */
/* The link of a port: up or down, and its speed. The control thread asks for it, and all other threads read what it has
 * found. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;

struct link {
	_Alignas(uint64_t) bool up; /* so that all members are loaded and stored at once */
	bool missing; /* the kernel has removed the interface, and the driver cannot return to it */
	uint32_t mbps; /* Mbit/s; 0: down, or not known */
};

#define LINK_TEXT_MAX 32

/*
 * Asks the driver of a port that is started or, if it uses a kernel interface, the kernel. It does not wait for the
 * link to come up. Returns port->link if the kernel cannot be asked now. Main thread, then the control thread only: a
 * driver may need half a second for its reply.
 */
struct link link_ask(const struct port *port);

/* Stores what link_ask() returned, as port->link, and loads it. Any thread. */
void link_store(struct port *port, struct link link);
struct link link_load(const struct port *port);

/* Writes "up 10000 Mbit/s", "up" or "down". Returns buf. */
const char *link_text(const struct link *link, char buf[LINK_TEXT_MAX]);
