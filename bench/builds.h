/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the rows of a table take to compute. */
#ifndef GLB_BENCH_BUILDS_H
#define GLB_BENCH_BUILDS_H

/* Of tables with 16, 64, 256 and 4096 backends, into the report. */
void builds_run(void);

#endif
