/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that the director does with a burst. The fast path (lanes.h) takes the packets that it can. The general path
 * takes the others, stage by stage over the burst: parse all, classify all, hash all, look up all rows, write all
 * headers. After the second stage, the fast path takes those that it can now. If they are among ordinary packets, it
 * takes them after the third stage. The results are the same. Pure: no locks, no allocation, no logging. Workers, the
 * CLI's replay and the tests run this code.
 */
#pragma once

#include "packet/burst.h"
#include "packet/lanes/lanes.h"
#include "packet/next_hops.h"
#include "packet/prefetch.h"
#include "packet/routes.h"
#include "packet/steering.h"
#include "packet/icmp/too_big_limit.h"

/* The caller fills all members that are not private, and may change them between bursts. One thread uses a pipeline. */
struct pipeline {
	const struct routes *routes;
	const struct next_hops *next_hops; /* for `routes`, from the port that sends the packets */
	const struct steering_config *steering;
	struct encapsulate_outer outer; /* pipeline.c fills destination_mac */
	/* A too-big reply goes to the source MAC of the frame with the packet. False: to the packet's next hop. */
	bool reply_to_sender;
	struct too_big_limit *too_big_limit; /* of this thread; NULL: too-big replies are not limited */
	uint64_t port_mac; /* of the port that received the burst, as admission_mac() returns it */
	lanes_fn *fast; /* one of lanes_by_isa; NULL: the general path takes all packets */
	struct prefetch prefetch; /* the next packets; the fast path prefetches some in each stage */

	/* Private to pipeline.c. */
	struct encapsulate_outer prebuilt_outer; /* what `prebuilt` was built from */
	bool prebuilt_valid;
	struct prebuilt_headers prebuilt[PREBUILT_COUNT];
};

/*
 * Fills the verdict of each lane, and `out` and `out_size` of the lanes that have a frame to send: VERDICT_FORWARDED
 * and VERDICT_ANSWERED_TOO_BIG. In all other lanes `out` is NULL. The frames of VERDICT_EXCEPTION lanes are unchanged.
 */
void pipeline_run(struct pipeline *pipeline, struct burst *burst);
