/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps before packets flow, each with an explanation of what to do where it fails. Main thread
 * only; 0 or -errno, logged. */
#ifndef GLB_DIRECTOR_STARTUP_H
#define GLB_DIRECTOR_STARTUP_H

#include <sched.h>

#include "director/director.h"

int startup_conf(struct director *director);

/* rte_eal_init(), and all --vdev asked for are there. */
int startup_eal(int argc, char **argv);

/* Finds the ports, makes the plan, sets the ports up and starts them. */
int startup_ports(struct director *director);

/* Takes the workers' CPUs out of *cpus (all that the process was given), unless none would be left;
 * returns cpus. */
const cpu_set_t *startup_control_cpus(cpu_set_t *cpus);

#endif
