/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The director's work on a burst, in stages: parse all, classify all, hash all, look up all rows,
 * emit all. Ordinary packets take the fast path (lanes.h) where one is chosen; the stages here can
 * do all, and the results are equal. Pure: the worker lcores, the CLI's replay and the tests all
 * run exactly this. No locks, no allocation, nothing logged.
 */
#ifndef GLB_PACKET_PIPELINE_H
#define GLB_PACKET_PIPELINE_H

#include "common/token_bucket.h"
#include "packet/burst.h"
#include "packet/lanes/lanes.h"
#include "packet/prefetch.h"
#include "packet/routes.h"
#include "packet/steering.h"

/* Too-big replies of an lcore: at most this many a second, and at once (RFC 1812 section 4.3.2.8). */
#define PIPELINE_TOO_BIG_PER_SECOND 100

struct pipeline {
	const struct routes *routes;
	const struct steering_config *steering;
	struct encapsulate_outer outer;
	bool gateway_known; /* outer.destination_mac is valid */
	struct token_bucket too_big_replies; /* ICMP errors that may still be sent */
	lanes_fn *fast; /* one of lanes_by_isa; NULL: the stages do all */
	struct prefetch prefetch; /* the fast path fetches what it can of it */

	/* The pipeline's own. */
	struct encapsulate_outer prebuilt_outer; /* what `prebuilt` was built from */
	bool prebuilt_valid;
	struct prebuilt_headers prebuilt[PREBUILT_COUNT];
};

/* Allows the too-big replies that are due now. `now` counts `hz` ticks a second. */
static inline void pipeline_refill(struct pipeline *pipeline, uint64_t now, uint64_t hz)
{
	token_bucket_refill(
		&pipeline->too_big_replies, now, hz / PIPELINE_TOO_BIG_PER_SECOND, PIPELINE_TOO_BIG_PER_SECOND);
}

/*
 * Fills verdict of each lane, and out and out_size where something is to be sent: VERDICT_FORWARDED
 * and VERDICT_ANSWERED_TOO_BIG. VERDICT_EXCEPTION lanes keep their frame untouched.
 */
void pipeline_run(struct pipeline *pipeline, struct burst *burst);

#endif
