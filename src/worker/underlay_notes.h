/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring without locks, in which a worker tells the control thread about packets with VERDICT_UNDERLAY_TOO_BIG. One
 * worker writes notes, and one thread takes them. If the ring is full, the worker drops the note and only counts the
 * verdict.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/icmp/underlay.h"

#define UNDERLAY_NOTES 256 /* a power of two; the control thread takes them once a second */

/* All zeros is an empty ring. */
struct underlay_notes {
	/*
	 * Atomic. How many notes were ever written, and how many were taken. Each member has its own writer, so each
	 * has its own cache line.
	 */
	uint32_t written __attribute__((aligned(64)));
	uint32_t taken __attribute__((aligned(64)));
	struct underlay_note notes[UNDERLAY_NOTES];
};

static inline void underlay_notes_put(struct underlay_notes *ring, const struct underlay_note *note)
{
	uint32_t at = ring->written;

	if (at - __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE) == UNDERLAY_NOTES)
		return;
	ring->notes[at % UNDERLAY_NOTES] = *note;
	__atomic_store_n(&ring->written, at + 1, __ATOMIC_RELEASE);
}

/* False: the ring is empty. */
static inline bool underlay_notes_take(struct underlay_notes *ring, struct underlay_note *note)
{
	uint32_t at = ring->taken;

	if (at == __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE))
		return false;
	*note = ring->notes[at % UNDERLAY_NOTES];
	__atomic_store_n(&ring->taken, at + 1, __ATOMIC_RELEASE);
	return true;
}
