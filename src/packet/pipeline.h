/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that the director does with a burst. The fast path (lanes.h) takes the packets that it can. The general path takes
 * the others, stage by stage over the burst: parse all, classify all, hash all, look up all rows, write all headers.
 * The results are the same. Pure: no locks, no allocation, no logging. Workers, the CLI's replay and the tests run this
 * code.
 */
#ifndef GLB_PACKET_PIPELINE_H
#define GLB_PACKET_PIPELINE_H

#include "common/token_bucket.h"
#include "packet/burst.h"
#include "packet/lanes/lanes.h"
#include "packet/prefetch.h"
#include "packet/routes.h"
#include "packet/steering.h"

/* The limit of too-big replies for each lcore: this many a second, and this many at once (RFC 1812 section 4.3.2.8). */
#define PIPELINE_TOO_BIG_PER_SECOND 100

/* The caller fills all members that are not private, and may change them between bursts. One thread uses a pipeline. */
struct pipeline {
	const struct routes *routes;
	const struct steering_config *steering;
	struct encapsulate_outer outer;
	bool gateway_known; /* outer.destination_mac is valid */
	struct token_bucket too_big_replies; /* the too-big replies that may still be sent */
	lanes_fn *fast; /* one of lanes_by_isa; NULL: the general path takes all packets */
	struct prefetch prefetch; /* the next packets; the fast path prefetches some in each stage */

	/* Private to pipeline.c. */
	struct encapsulate_outer prebuilt_outer; /* what `prebuilt` was built from */
	bool prebuilt_valid;
	struct prebuilt_headers prebuilt[PREBUILT_COUNT];
};

/* Adds the too-big replies that are allowed since the last call. now: a clock with `hz` ticks a second. */
static inline void pipeline_refill(struct pipeline *pipeline, uint64_t now, uint64_t hz)
{
	token_bucket_refill(
		&pipeline->too_big_replies, now, hz / PIPELINE_TOO_BIG_PER_SECOND, PIPELINE_TOO_BIG_PER_SECOND);
}

/*
 * Fills the verdict of each lane, and `out` and `out_size` of the lanes that have a frame to send: VERDICT_FORWARDED
 * and VERDICT_ANSWERED_TOO_BIG. In all other lanes `out` is NULL. The frames of VERDICT_EXCEPTION lanes are unchanged.
 */
void pipeline_run(struct pipeline *pipeline, struct burst *burst);

#endif
