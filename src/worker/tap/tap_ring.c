/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/tap/tap_ring.h"

#include <stdbool.h>
#include <stddef.h>

#define ALIGNMENT 8u

/* In front of each record. */
struct head {
	uint32_t size; /* of the record */
	uint32_t skip; /* bytes from this head to the next one; if size is 0, there is no record, but the ring's end */
};

_Static_assert(sizeof(struct head) == ALIGNMENT, "the record after the head is aligned");

static struct head *head_at(const struct tap_ring *ring, uint64_t position)
{
	return (struct head *)(ring->memory + (position & (ring->size - 1)));
}

static uint32_t tap_ring_needed(uint32_t size)
{
	return (uint32_t)sizeof(struct head) + ((size + ALIGNMENT - 1) & ~(ALIGNMENT - 1));
}

/* Returns the bytes from the position to the end of the ring's memory. */
static uint32_t to_end(const struct tap_ring *ring, uint64_t position)
{
	return ring->size - (uint32_t)(position & (ring->size - 1));
}

uint8_t *tap_ring_reserve(struct tap_ring *ring, uint32_t size)
{
	uint32_t need = tap_ring_needed(size), end = to_end(ring, ring->written);
	uint32_t gap = need > end ? end : 0; /* the record does not fit before the end, so it begins at the start */
	uint64_t used = ring->written - __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE);

	if (used + gap + need > ring->size)
		return NULL;
	if (gap) {
		*head_at(ring, ring->written) = (struct head){.skip = gap};
		__atomic_store_n(&ring->written, ring->written + gap, __ATOMIC_RELEASE);
	}
	return (uint8_t *)(head_at(ring, ring->written) + 1);
}

void tap_ring_commit(struct tap_ring *ring, uint32_t size)
{
	*head_at(ring, ring->written) = (struct head){.size = size, .skip = tap_ring_needed(size)};
	__atomic_store_n(&ring->written, ring->written + tap_ring_needed(size), __ATOMIC_RELEASE);
}

const uint8_t *tap_ring_peek(struct tap_ring *ring, uint32_t *size)
{
	while (ring->taken != __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE)) {
		const struct head *head = head_at(ring, ring->taken);

		*size = head->size;
		if (head->size)
			return (const uint8_t *)(head + 1);
		__atomic_store_n(&ring->taken, ring->taken + head->skip, __ATOMIC_RELEASE);
	}
	return NULL;
}

void tap_ring_release(struct tap_ring *ring)
{
	__atomic_store_n(&ring->taken, ring->taken + head_at(ring, ring->taken)->skip, __ATOMIC_RELEASE);
}
