/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path: it takes packets through all stages in SIMD code, one packet for each vector lane. A packet is
 * fast-path eligible if it is TCP or UDP after an IPv4 header without options or an IPv6 header without extension
 * headers, not fragmented and not tagged. The fast path finishes eligible packets that it can forward, that come from
 * martian sources, that no bind matches, or that have no next hop. It also finishes frames for other hosts. It leaves
 * all others, for example packets over the MTU, to the general path in pipeline.c, which gives the same results. The
 * general path parses packets that are not eligible, and they come back for the stages after the hash or after the
 * lookup of the table. lanes.c is compiled once for each ISA. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/isa.h"
#include "gue/prebuilt.h"
#include "packet/burst.h"
#include "packet/prefetch.h"
#include "packet/steering.h"

struct next_hops;
struct pipeline;
struct routes;

struct lanes_job {
	const struct routes *routes; /* with at least one table */
	const struct next_hops *next_hops; /* with `single`, the prebuilt headers have their MAC */
	const struct steering_config *steering;
	const struct prebuilt_headers *prebuilt; /* PREBUILT_COUNT of them */
	struct prefetch *prefetch;
	uint64_t port_mac; /* as in struct pipeline */
	/* Not 0: only these lanes, whose flow and table the general path has found. */
	uint64_t parsed;
	/*
	 * The general path up to the hash, called with `pipeline`: fills verdict, flow, table, hash and alt_hash of
	 * these lanes. The fast path calls it for a few packets among eligible ones. NULL: it returns their lanes
	 * instead.
	 */
	void (*parse)(const struct pipeline *pipeline, struct burst *burst, uint64_t lanes);
	const struct pipeline *pipeline;
};

/*
 * Fills the verdict and `out` of the lanes that it can finish, and table, backend and out_size of those that it
 * forwards, and backend of those without a next hop. Sets burst->mixed. Returns the set of all other lanes. Their
 * frames are unchanged. They still need the parser, unless job->parse() has had them: then verdict, flow and table are
 * filled.
 */
typedef uint64_t lanes_fn(const struct lanes_job *job, struct burst *burst);

lanes_fn lanes_plain, lanes_avx2, lanes_avx512;

/* Call only the variants that isa_usable() accepts. */
extern lanes_fn *const lanes_by_isa[ISA_COUNT];
