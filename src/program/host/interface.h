/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interfaces of the kernel: those of this network namespace, asked from the kernel, because /sys may show another
 * namespace; or those in /sys of a copy. One thread.
 */
#pragma once

#include "program/host/host.h"

struct interface {
	bool up; /* switched on */
	bool running; /* has a carrier */
	unsigned mtu; /* bytes */
};

/* Returns false if there is no such interface. */
bool interface_read(const struct host *host, const char *name, struct interface *interface);

/* What an interface of this namespace merges before a packet socket gets it. All false if the driver does not tell. */
struct interface_merging {
	bool lro, gro;
};

struct interface_merging interface_merges(const char *name);
