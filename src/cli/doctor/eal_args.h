/* SPDX-License-Identifier: BSD-3-Clause */
/* What the options of DPDK's EAL say about ports, lcores and memory. Pure. The strings are those of the words. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "director/conf/conf.h"

#define EAL_ARGS_WORDS      256
#define EAL_ARGS_NAME       64
#define EAL_ARGS_MAX_PORTS  CONF_MAX_PORTS
#define EAL_ARGS_MAX_LCORES CONF_MAX_LCORES

struct eal_args_port {
	bool pci; /* otherwise a virtual device */
	/* PCI address like 0000:3b:02.0, or the name of the virtual device like net_af_packet0 */
	char name[EAL_ARGS_NAME];
	char interface[EAL_ARGS_NAME]; /* of the kernel, for a virtual device; "": none */
};

struct eal_args_lcore {
	uint16_t id;
	cpu_set_t cpus; /* where it may run */
};

struct eal_args {
	bool no_huge, no_pci, in_memory;
	unsigned memory_mb; /* 0: not given */
	int main_lcore; /* -1: the first one */
	size_t port_count; /* those that -a and --vdev name */
	struct eal_args_port ports[EAL_ARGS_MAX_PORTS];
	bool lcores_given; /* otherwise EAL uses all CPUs */
	bool lcores_unknown; /* they are given in a form that is not known here */
	size_t lcore_count;
	struct eal_args_lcore lcores[EAL_ARGS_MAX_LCORES];
};

/* Reads the words of a command line up to "--". Options that are not known here are skipped. */
void eal_args_read(const char *const words[], size_t count, struct eal_args *args);
