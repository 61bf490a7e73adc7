/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a start. A step returns 0, or -errno after logging why it failed and what to do. Main thread only. */
#pragma once

#include <sched.h>

#include "director/director.h"

/* Reads director->conf. */
int startup_conf(struct director *director);

/* Runs rte_eal_init() and checks that every virtual device of --vdev exists. */
int startup_eal(int argc, char **argv);

/* Finds the ports, makes the plan, sets the ports up and starts them, with the exception path. */
int startup_ports(struct director *director);

/*
 * Chooses the CPUs for the control, capture and HTTP threads. *cpus: in, all CPUs of the process; out, those that no
 * worker uses, unless none would be left. Returns cpus.
 */
const cpu_set_t *startup_control_cpus(cpu_set_t *cpus);
