/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of bytes without locks, in which a worker hands records of different sizes to one thread. The worker writes,
 * and the thread takes the records in the same order. A record is contiguous and aligned to 8 bytes. If there is no
 * room, the worker loses the record, and never waits. Pure.
 */
#pragma once

#include <stdint.h>

struct tap_ring {
	/*
	 * Atomic. How many bytes were ever written, and how many were taken. Each member has its own writer, so each
	 * has its own cache line.
	 */
	uint64_t written __attribute__((aligned(64)));
	uint64_t taken __attribute__((aligned(64)));
	/* Read-only while the ring is used. */
	uint8_t *memory; /* aligned to 8 bytes; borrowed */
	uint32_t size; /* bytes, a power of two */
};

/*
 * Returns room for a record, or NULL if there is none. size: bytes, at most half of the ring. The next call of
 * tap_ring_commit() adds the record to the ring. Without that call, there is no record.
 */
uint8_t *tap_ring_reserve(struct tap_ring *ring, uint32_t size);
void tap_ring_commit(struct tap_ring *ring, uint32_t size);

/* Returns the oldest record and its size, or NULL if there is none. It is valid until tap_ring_release(). */
const uint8_t *tap_ring_peek(struct tap_ring *ring, uint32_t *size);
void tap_ring_release(struct tap_ring *ring);
