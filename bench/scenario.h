/* SPDX-License-Identifier: BSD-3-Clause */
/* What is measured: worlds, and how the director and its frames are set up for them. */
#ifndef GLB_BENCH_SCENARIO_H
#define GLB_BENCH_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/frames.h"
#include "bench/world.h"

/* Where the frames are when they arrive. */
enum scenario_set { SCENARIO_L2, SCENARIO_L3, SCENARIO_DRAM };

struct scenario {
	const char *what; /* where it is not plain steering */
	enum scenario_set set;
	uint16_t burst; /* 0: 64 */
	struct world world;
	enum frames_shape shape;
	uint8_t hash_fields, alt_hash_fields; /* 0: the source address, none */
	uint16_t mtu; /* 0: 1500 */
	bool dropped; /* all frames are, by the director */
	bool two_lcores; /* beside one */
	bool profiled; /* says where the time goes */
	bool slow; /* not for --quick */
};

extern const struct scenario scenarios[];
extern const unsigned scenario_count;

/* Frames of a queue in a pass. */
uint32_t scenario_frames(const struct scenario *scenario);
const char *scenario_set_name(const struct scenario *scenario);
const char *scenario_family_name(const struct scenario *scenario);

#endif
