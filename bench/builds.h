/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how long it takes to build the rows of tables, a classifier, and to run `build-config`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Adds the figures to the report. cli: the path of glb-director-cli. cpus: it runs with one thread on
 * cpus[0], and with two threads on both; cpus[1] is -1 if there is only one CPU. Exits if the command
 * fails. time_limit: TSC; after it nothing is measured.
 */
void builds_run(const char *cli, const int cpus[2], bool quick, uint64_t time_limit);
