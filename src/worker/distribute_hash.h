/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lcore works on a packet where lcores share a queue: a quick look at its flow. Pure,
 * thread-safe. */
#ifndef GLB_WORKER_DISTRIBUTE_HASH_H
#define GLB_WORKER_DISTRIBUTE_HASH_H

#include <stdint.h>

/*
 * Equal for packets of one flow: addresses, and ports of TCP and UDP unless the packet is a
 * fragment, as network cards hash (RSS). What is not IP gives a constant. `readable` bytes of the
 * frame may be read. seed: random, so that no sender can aim at one lcore.
 */
uint32_t distribute_hash(const uint8_t *frame, uint32_t readable, uint64_t seed);

#endif
