/* SPDX-License-Identifier: BSD-3-Clause */
/* From flows to hops: hash, row, hops, for the given lanes of a burst (docs/reference/steering.md#packet-hash).
 * Pure; reads routes, writes the burst. */
#ifndef GLB_PACKET_STEER_H
#define GLB_PACKET_STEER_H

#include "packet/burst.h"
#include "packet/routes.h"
#include "packet/steering.h"

/*
 * Finds the table of each lane; VERDICT_DROP_UNMATCHED where no bind matches, VERDICT_DROP_FRAGMENT
 * for later fragments that addresses alone cannot steer.
 */
void steer_classify(
	struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering);

/* Hashes with steering->hash_fields and the table's key: fills hash and row. */
void steer_hash(struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering);

/* Fills hops: of the row, then of the row by steering->alt_hash_fields, none twice. At least one. */
void steer_hops(struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering);

#endif
