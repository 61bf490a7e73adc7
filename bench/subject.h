/* SPDX-License-Identifier: BSD-3-Clause */
/* The director's own worker (worker.c, unchanged), with just so much of a director around it as it
 * looks at. */
#ifndef GLB_BENCH_SUBJECT_H
#define GLB_BENCH_SUBJECT_H

#include "director/worker.h"

struct subject {
	struct director director;
	struct reload_live live;
	struct worker *worker;
	struct path path;
};

/* Steers from the port to itself, by the routes (borrowed). Ends the process where there is no
 * memory. */
void subject_open(struct subject *subject, uint16_t port, struct routes *routes);
void subject_close(struct subject *subject);

/* Until director.stop. */
void subject_run(struct subject *subject);

#endif
