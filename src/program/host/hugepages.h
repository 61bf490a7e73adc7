/* SPDX-License-Identifier: BSD-3-Clause */
/* The hugepages of a host, of all sizes together. One thread, like host.h. */
#pragma once

#include "program/findings.h"
#include "program/host/host.h"

#define HUGEPAGES_FOLDER "/sys/kernel/mm/hugepages"

/* The finding about a host without hugepages. */
extern const struct finding hugepages_none;

struct hugepages {
	long total_kb, unused_kb;
};

/* folder: HUGEPAGES_FOLDER, or that of a NUMA node. */
struct hugepages hugepages_count(const struct host *host, const char *folder);
