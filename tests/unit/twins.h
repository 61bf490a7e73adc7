/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two bursts with the same frames, of which one takes the general path and the other one the fast path. Their results
 * must be the same.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "packet/pipeline.h"
#include "tests/unit/packets.h"
#include "tests/unit/table_helpers.h"

#define ROOM   368 /* bytes for a frame and BEFORE bytes before it */
#define BEFORE 192

static struct next_hops one_next_hop = {.single = true, .mac = 0x070605040302};
static uint8_t rooms[2][BURST_MAX][ROOM];
static struct burst bursts[2];

/* Both bursts have the same results for a lane. The bytes before `out` may differ. */
static inline void assert_same_lane(uint32_t lane)
{
	const uint8_t *out[2] = {bursts[0].out[lane], bursts[1].out[lane]};
	size_t from = BEFORE;

	assert_int_equal(bursts[1].verdict[lane], bursts[0].verdict[lane]);
	if (bursts[0].verdict[lane] == VERDICT_DROP_TOO_BIG)
		assert_int_equal(bursts[1].refusal[lane], bursts[0].refusal[lane]);
	if (bursts[0].verdict[lane] == VERDICT_DROP_NO_NEXT_HOP)
		assert_int_equal(bursts[1].backend[lane], bursts[0].backend[lane]);
	if (bursts[0].verdict[lane] == VERDICT_FORWARDED) {
		assert_int_equal(bursts[1].table[lane], bursts[0].table[lane]);
		assert_int_equal(bursts[1].backend[lane], bursts[0].backend[lane]);
	}
	if (!out[0]) {
		assert_null(out[1]);
	} else {
		from = (size_t)(out[0] - rooms[0][lane]);
		assert_int_equal(out[1] - rooms[1][lane], from);
		assert_int_equal(bursts[1].out_size[lane], bursts[0].out_size[lane]);
	}
	assert_memory_equal(rooms[1][lane] + from, rooms[0][lane] + from, ROOM - from);
}

/* Next hops of all sorts: a tenth of the backends has none, others have one that is unreachable, one, or several. */
static inline struct next_hops *random_next_hops(const struct routes *routes)
{
	static struct next_hop all[8192];
	uint32_t used = 0, most = 1 + random_below(4);
	struct next_hop_list *lists = calloc(routes->address_count + 1, sizeof(*lists));
	struct next_hops *next_hops;

	for (uint32_t i = 0; i < routes->address_count; i++) {
		lists[i] = (struct next_hop_list){&all[used], random_below(10) ? 1 + random_below(most) : 0};
		if (random_below(3) == 0 && i > 0)
			lists[i] = lists[i - 1];
		for (uint32_t n = 0; n < lists[i].count && lists[i].next_hops == &all[used + n]; n++)
			all[used + n] = (struct next_hop){
				n, random_below(8) ? random_u64() & 0xffffffffffff : 0, 1 + random_below(9)};
		used = (used + lists[i].count) % (8192 - 16);
	}
	next_hops = next_hops_create(lists, routes->address_count);
	assert_non_null(next_hops);
	free(lists);
	return next_hops;
}
