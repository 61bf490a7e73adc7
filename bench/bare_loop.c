/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of a worker, which does not take the time of each iteration. The difference shows what that costs. */
#include "bench/bare_loop.h"

#define poll_gaps_due(gaps, packets) false
#define worker_run                   bare_loop_run
#include "worker/worker_loop.c"
