/* SPDX-License-Identifier: BSD-3-Clause */
/* The hugepages of a host, of all sizes together. One thread, like host.h. */
#ifndef GLB_PROGRAM_HOST_HUGEPAGES_H
#define GLB_PROGRAM_HOST_HUGEPAGES_H

#include "program/host/host.h"

#define HUGEPAGES_FOLDER  "/sys/kernel/mm/hugepages"
#define HUGEPAGES_COMMAND "sysctl -w vm.nr_hugepages=512"
#define HUGEPAGES_NONE \
	"no hugepages are reserved, so the director does not start: make the number permanent in /etc/sysctl.d"

struct hugepages {
	long total_kb, unused_kb;
};

/* folder: HUGEPAGES_FOLDER, or that of a NUMA node. */
struct hugepages hugepages_count(const struct host *host, const char *folder);

#endif
