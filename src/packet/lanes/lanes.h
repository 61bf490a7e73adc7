/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path: ordinary packets (TCP or UDP behind an IPv4 header without options or an IPv6
 * header without extensions, not fragmented, not tagged) through all stages, a vector of lanes at a
 * time. What is not ordinary, or is neither forwarded nor unmatched, is left for the stages in
 * pipeline.c, which can do all; their results are equal. lanes.c is compiled once for each
 * ISA. Pure; reads the pipeline, writes the burst.
 */
#ifndef GLB_PACKET_LANES_LANES_H
#define GLB_PACKET_LANES_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/isa.h"
#include "gue/prebuilt.h"
#include "packet/burst.h"
#include "packet/prefetch.h"
#include "packet/steering.h"

struct routes;

struct lanes_job {
	const struct routes *routes; /* with a portmap */
	const struct steering_config *steering;
	const struct prebuilt_headers *prebuilt;
	struct prefetch *prefetch;
};

/*
 * Settles what it can: fills verdict and out, and table and out_size where it forwards. Returns the
 * lanes that it has not touched, a bit each.
 */
typedef uint64_t lanes_fn(const struct lanes_job *job, struct burst *burst);

lanes_fn lanes_plain, lanes_avx2, lanes_avx512;

/* Call only the variants that isa_usable() accepts. */
extern lanes_fn *const lanes_by_isa[ISA_COUNT];

#endif
