/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/lanes/lanes.h"

#include "packet/lanes/lanes_emit.h"
#include "packet/lanes/lanes_parse.h"
#include "packet/lanes/lanes_quic.h"
#include "packet/lanes/lanes_steer.h"

/* Called for each block in four stages, so that a full burst prefetches as many packets as it has. */
INLINE void prefetch_some(const struct lanes_job *job)
{
	prefetch_packets(job->prefetch, BLOCK / 4);
}

/*
 * Has the general path parse and hash the odd packets. So far their lanes had no use. In these lanes they go through
 * the remaining stages, which costs nothing more.
 */
INLINE void rejoin(
	const struct lanes_job *job, struct lanes *lanes, struct block blocks[BURST_MAX / BLOCK], struct burst *burst)
{
	uint64_t odd = 0;

	BURST_EACH (at, lanes->odd)
		odd |= 1ull << lanes->index[at];
	job->parse(job->pipeline, burst, odd);
	BURST_EACH (at, lanes->odd) {
		uint32_t lane = lanes->index[at], i = at % BLOCK;
		const struct flow *flow = &burst->flow[lane];
		struct block *block = &blocks[at / BLOCK];

		block->refused[i] = burst->verdict[lane]; /* 0 is VERDICT_FORWARDED */
		if (block->refused[i])
			continue;
		block->eligible[i] = has_alternative_row(job, flow);
		block->total[i] = flow->ip_size;
		block->table[i] = burst->table[lane];
		block->hash[i] = burst->hash[lane];
		block->alt_hash[i] = burst->alt_hash[lane];
		if (job->routes->pairs_scalar)
			load_pair(job->routes, block, i);
		block->server[i] = burst->server[lane];
		lanes->ports[at] = swap16(flow->hint);
	}
}

/*
 * From the tables of all packets on: hashes, finds the hops, writes the headers. Returns the lanes for the general
 * path. parsed: the general path has parsed the packets.
 */
INLINE uint64_t steer_and_write(const struct lanes_job *job, struct lanes *lanes, bool v6, bool parsed,
	struct block blocks[BURST_MAX / BLOCK], struct burst *burst)
{
	uint8_t alt_fields = job->steering->alt_hash_fields;
	struct message message = plan_message(job->steering->hash_fields, v6);
	struct message alt_message = plan_message(alt_fields, v6);
	uint32_t count = (lanes->count + BLOCK - 1) / BLOCK;
	struct hidden hidden;
	uint64_t rest = 0;

	for (uint32_t b = 0; b < count; b++) {
		struct block *block = &blocks[b];

		prefetch_some(job);
		hash_lanes(job->routes, &message, lanes, b * BLOCK, v6, block->table, block->hash);
		if (job->routes->pairs_scalar)
			EACH (i)
				load_pair(job->routes, block, i);
		if (alt_fields)
			hash_lanes(job->routes, &alt_message, lanes, b * BLOCK, v6, block->table, block->alt_hash);
	}
	if (!parsed && __builtin_expect(lanes->odd != 0, 0))
		rejoin(job, lanes, blocks, burst);
	for (uint32_t b = 0; b < count; b++) {
		prefetch_some(job);
		find_hops(job->routes, &blocks[b]);
	}
	if (__builtin_expect(job->routes->quic, 0))
		insert_servers(job->routes, count, blocks);
	for (uint32_t b = 0; b < count && alt_fields; b++)
		find_alternative_hops(job->routes, &blocks[b]);
	if (parsed)
		load_hints(lanes, burst);
	for (uint32_t b = 0; b < count; b++) {
		prefetch_some(job);
		prepare_patches(job, lanes, b * BLOCK, &blocks[b]);
	}
	if (!parsed && __builtin_expect(lanes->odd != 0, 0))
		hide_odd(lanes, burst, &hidden);
	for (uint32_t b = 0; b < count; b++) {
		prefetch_some(job);
		rest |= emit(job, lanes, b * BLOCK, v6, parsed, &blocks[b], burst);
	}
	if (!parsed && __builtin_expect(lanes->odd != 0, 0))
		emit_odd(job, lanes, &hidden, blocks, burst);
	return rest;
}

INLINE uint64_t listed_lanes(const struct lanes *lanes)
{
	uint64_t listed = 0;

	for (uint32_t at = 0; at < lanes->count; at++)
		listed |= 1ull << lanes->index[at];
	return listed;
}

/*
 * Runs each stage over all blocks before the next stage. Within a block each stage waits for the one before, but the
 * CPU works on other blocks meanwhile. Returns the lanes for the general path.
 */
INLINE uint64_t forward_family(const struct lanes_job *job, struct lanes *lanes, bool v6, struct burst *burst)
{
	const struct portmap *portmap = job->routes->portmap;
	struct block blocks[BURST_MAX / BLOCK];
	uint32_t count = (lanes->count + BLOCK - 1) / BLOCK, seen = 0;

	load_lanes(lanes, burst, v6);
	for (uint32_t b = 0; b < count; b++) {
		if (v6)
			check_v6(lanes, b * BLOCK, &blocks[b]);
		else
			check_v4(lanes, b * BLOCK, &blocks[b]);
	}
	if (job->steering->admission.drop_martians)
		for (uint32_t b = 0; b < count; b++)
			find_martians(lanes, b * BLOCK, v6, &blocks[b]);
	if (__builtin_expect(lanes->odd != 0, 0))
		exclude_odd(lanes->odd, blocks);
	for (uint32_t b = 0; b < count; b++)
		EACH (i)
			seen |= 2 - blocks[b].eligible[i]; /* 1: eligible, 2: not */
	if (__builtin_expect(!(seen & 1), 0))
		return listed_lanes(lanes);
	if (__builtin_expect(seen & 2 && job->parse, 0))
		lanes->odd = find_odd(lanes->count, blocks);
	for (uint32_t b = 0; b < count; b++) {
		if (v6)
			find_v6(portmap, lanes, b * BLOCK, &blocks[b]);
		else
			find_v4(portmap, lanes->addresses[0] + b * BLOCK, &blocks[b]);
	}
	for (uint32_t b = 0; b < count; b++)
		find_tables(job, lanes->ports + b * BLOCK, &blocks[b]);
	if (__builtin_expect(job->routes->quic, 0))
		find_servers(job, lanes, v6, blocks, burst);
	return steer_and_write(job, lanes, v6, false, blocks, burst);
}

/* The same for a family of packets that the general path has parsed and classified. Lanes that idle cost as much as
 * others, so a few packets are left to the general path. */
INLINE uint64_t forward_parsed(const struct lanes_job *job, bool v6, struct burst *burst)
{
	struct lanes lanes;
	struct block blocks[BURST_MAX / BLOCK];

	load_parsed(job, burst, v6, &lanes, blocks);
	if (lanes.count < BLOCK / 2)
		return listed_lanes(&lanes);
	return steer_and_write(job, &lanes, v6, true, blocks, burst);
}

uint64_t ISA_NAME(lanes)(const struct lanes_job *job, struct burst *burst)
{
	struct lanes v4, v6;
	uint64_t rest;

	if (job->parsed)
		return forward_parsed(job, false, burst) | forward_parsed(job, true, burst);
	rest = sort_families(job, burst, &v4, &v6);
	burst->mixed = v4.count && v6.count;
	if (v4.count)
		rest |= forward_family(job, &v4, false, burst);
	if (v6.count)
		rest |= forward_family(job, &v6, true, burst);
	return rest;
}
