/* SPDX-License-Identifier: BSD-3-Clause */
/* How long tables take: their rows, their classifier, the whole command `build-config`. */
#ifndef GLB_BENCH_BUILDS_H
#define GLB_BENCH_BUILDS_H

#include <stdbool.h>

/*
 * Into the report. cli: path of glb-director-cli; cpus: where it may run, with one and with two
 * threads (cpus[1] is -1 where there is one CPU only). Ends the process where the command fails.
 */
void builds_run(const char *cli, const int cpus[2], bool quick);

#endif
