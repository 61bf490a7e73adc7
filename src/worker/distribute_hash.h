/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash of a packet's flow by which a distributor chooses the worker. Pure, thread-safe. */
#pragma once

#include <stdint.h>

/*
 * Returns the same hash for all packets of a flow. It covers what network cards hash for RSS: the addresses, and the
 * ports of TCP and UDP unless the packet is a fragment. All frames that are not IP have the same hash. readable: bytes
 * of the frame that may be read. seed: random, so that no sender can aim its packets at one lcore.
 */
uint32_t distribute_hash(const uint8_t *frame, uint32_t readable, uint64_t seed);
