/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The director's work on a burst, in stages: parse all, classify all, hash all, look up all rows,
 * emit all. Ordinary packets take the fast path (lanes.h) where one is chosen; the stages here can
 * do all, and the results are equal. Pure: the worker lcores, the CLI's replay and the tests all
 * run exactly this. No locks, no allocation, nothing logged.
 */
#ifndef GLB_PACKET_PIPELINE_H
#define GLB_PACKET_PIPELINE_H

#include "packet/burst.h"
#include "packet/lanes/lanes.h"
#include "packet/prefetch.h"
#include "packet/routes.h"
#include "packet/steering.h"

struct pipeline {
	const struct routes *routes;
	const struct steering_config *steering;
	struct encapsulate_outer outer;
	bool gateway_known; /* outer.destination_mac is valid */
	uint32_t answers; /* ICMP errors that may still be sent; counts down */
	lanes_fn *fast; /* one of lanes_by_isa; NULL: the stages do all */
	struct prefetch prefetch; /* the fast path fetches what it can of it */

	/* The pipeline's own. */
	struct encapsulate_outer prebuilt_outer; /* what `prebuilt` was built from */
	bool prebuilt_valid;
	struct prebuilt_headers prebuilt[PREBUILT_COUNT];
};

/*
 * Fills verdict of each lane, and out and out_size where something is to be sent: VERDICT_FORWARDED
 * and VERDICT_ANSWERED_TOO_BIG. VERDICT_EXCEPTION lanes keep their frame untouched.
 */
void pipeline_run(struct pipeline *pipeline, struct burst *burst);

#endif
