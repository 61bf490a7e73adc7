/* SPDX-License-Identifier: BSD-3-Clause */
/* The hosts that may send to the programs of this proxy: allow_from of each. Plain data. One thread. The functions
 * print nothing. */
#pragma once

#include <net/if.h>
#include <stddef.h>

#include "common/netaddr.h"

#define SENDERS_MAX_PROGRAMS 64 /* more are not read */
#define SENDERS_MAX          64 /* prefixes of a program; `omitted` counts the others */

struct senders_program {
	char interface[IFNAMSIZ];
	size_t count, omitted;
	struct netprefix prefixes[SENDERS_MAX];
};

struct senders {
	size_t count;
	struct senders_program programs[SENDERS_MAX_PROGRAMS];
};

/* A program that allows every address, or whose list cannot be read, has no entry. */
void senders_read(struct senders *senders);
