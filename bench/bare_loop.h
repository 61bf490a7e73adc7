/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GLB_BENCH_BARE_LOOP_H
#define GLB_BENCH_BARE_LOOP_H

#include <rte_cycles.h>

#include "worker/worker.h"

/* worker_run() without the histogram of gaps between two polls. */
int bare_loop_run(void *argument);

#endif
