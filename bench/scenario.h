/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of scenarios: a world, and the settings of the director and of the frames. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bench/frames.h"
#include "bench/world.h"

/* Where the frames' headers are when the director receives them. */
enum scenario_set { SCENARIO_L2, SCENARIO_L3, SCENARIO_DRAM };

struct scenario {
	const char *what; /* the difference from plain steering; NULL: none */
	enum scenario_set set;
	uint16_t burst; /* most frames that a poll returns; 0: 64 */
	struct world world;
	enum frames_shape shape;
	uint8_t hash_fields, alt_hash_fields; /* 0: the source address; 0: none */
	uint16_t mtu; /* bytes; 0: 1500 */
	bool udp_checksum; /* outbound_udp_checksum */
	uint8_t next_hops; /* how many lead to each backend; 0: one for all backends */
	bool dropped; /* the director drops all frames */
	bool other_hosts; /* the frames go to another host's MAC; with `dropped` */
	/* The director sends too-big replies, without limit. With `dropped` it has its limit, so it drops nearly all packets. */
	bool replies;
	bool exception_path; /* measures with and without exception path and limits */
	bool watched; /* each ISA, with more or less for people who watch the director: copies.h */
	bool captured; /* only the best ISA, without a capture, and with a capture of all packets or of none */
	bool two_lcores; /* measures one and two lcores */
	bool profiled; /* runs the sampler, too */
	bool slow; /* left out by --quick */
};

extern const struct scenario scenarios[];
extern const unsigned scenario_count;

/* The number of frames that a queue hands out in a pass. */
uint32_t scenario_frames(const struct scenario *scenario);
const char *scenario_set_name(const struct scenario *scenario);
const char *scenario_family_name(const struct scenario *scenario);
