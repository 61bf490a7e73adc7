/* SPDX-License-Identifier: BSD-3-Clause */
/* From a flow to its hops: table, packet hash, row, hops (docs/reference/steering.md#table). Pure; reads the routes. */
#pragma once

#include <stdint.h>

#include "gue/encapsulate.h"
#include "gue/gue_wire.h"
#include "packet/burst.h"
#include "packet/routes.h"
#include "packet/steering.h"

_Static_assert(ENCAPSULATE_MAX_HOPS == 2 * TABLE_MAX_HOPS, "a packet has room for the hops of two rows");
_Static_assert(ENCAPSULATE_MAX_HOPS - 1 <= GUE_MAX_LATER_HOPS, "GUE has room for the hops of two rows");

/* Where one flow goes. If verdict is not VERDICT_FORWARDED, the other members are 0. */
struct steer_result {
	enum verdict verdict;
	uint16_t table;
	uint8_t quic; /* enum quic_fate */
	uint32_t server; /* as in struct burst */
	uint8_t hop_count; /* at least 1 */
	uint16_t row;
	uint64_t hash;
	uint32_t hops[ENCAPSULATE_MAX_HOPS]; /* IPv4 addresses in network order, or for routes_hop() */
};

/* Steers one flow in the same way as the pipeline steers its packets. */
struct steer_result steer_flow(
	const struct flow *flow, const struct routes *routes, const struct steering_config *steering);

/*
 * Returns the first bind that matches a flow, as a lookup of table/classify.h does. It is a bind of the
 * table that the flow is steered by, if any.
 */
int steer_find_bind(const struct flow *flow, const struct routes *routes);

/*
 * The same for a packet that the pipeline has forwarded, from its IP header on. readable: bytes that may be read.
 */
int steer_find_packet_bind(const uint8_t *ip, uint32_t readable, uint32_t size, const struct routes *routes);

/*
 * The packet hash over `fields` (enum steering_field, OR-ed) with the hash key of a table. Its low 16 bits are the row.
 */
uint64_t steer_hash(const struct flow *flow, const struct routes *routes, uint16_t table, uint8_t fields);

/*
 * Finds the table of each given lane with VERDICT_FORWARDED, or gives it another verdict: steer_unmatched() if no bind
 * matches, VERDICT_DROP_FRAGMENT for a later fragment that its addresses alone cannot steer. A lane with
 * VERDICT_DROP_UNMATCHED gets steer_unmatched(). All other lanes stay as they are.
 */
void steer_classify(
	struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering);

/*
 * Finds hash, row and hops of each given lane with VERDICT_FORWARDED, after steer_classify(), stage by stage, so that
 * the rows are in the caches when they are read.
 */
void steer_find_hops(
	struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering);

/* Finds the hashes of these lanes, which have VERDICT_FORWARDED: by hash_fields, and by alt_hash_fields if
 * it is set. */
void steer_hash_lanes(
	struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering);

/* The verdict on a packet that no bind matches. */
static inline enum verdict steer_unmatched(const struct steering_config *steering)
{
	return steering->exception_path ? VERDICT_EXCEPTION : VERDICT_DROP_UNMATCHED;
}

/* The outer UDP source port of a packet, from its packet hash and the hint of its flow. Host order. */
static inline uint16_t steer_source_port(uint64_t hash, uint16_t hint)
{
	return (uint16_t)(GUE_PORT_SOURCE_BIT | (hash ^ hint));
}
