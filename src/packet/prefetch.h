/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefetches the packets of the next burst while the pipeline works on this one. A core can wait for only a few cache
 * lines at a time, and more requests stall it. So the stages prefetch a few packets now and then. Nothing is read, so a
 * wrong address is harmless.
 */
#pragma once

#include <stdint.h>

struct prefetch {
	void *const *next; /* the packets to prefetch next: addresses of their descriptors (mbufs) */
	uint32_t left; /* number of packets in `next` */
	uint32_t frame_offset; /* bytes from a descriptor to its frame, where the driver places it */
	uint32_t before; /* bytes before the frame where the outer headers start, if in another cache line; else 0 */
};

/* Offset of the last byte that the fast path reads of a frame: the end of the ports behind an IPv6 header. */
#define PREFETCH_FRAME_END 57

/* Prefetches the next `count` packets, or fewer if there are not so many left. */
static inline __attribute__((always_inline)) void prefetch_packets(struct prefetch *prefetch, uint32_t count)
{
	void *const *packets = prefetch->next;

	if (count > prefetch->left)
		count = prefetch->left;
	if (count == 0)
		return;
	prefetch->next += count;
	prefetch->left -= count;
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *packet = packets[i];
		const uint8_t *frame = packet + prefetch->frame_offset;

		/* Because of MBUF_PRIVATE_SIZE, outer headers with IPv4 start in the first cache line of the frame. */
		__builtin_prefetch(packet, 1);
		__builtin_prefetch(frame, 1);
		if (prefetch->before)
			__builtin_prefetch(frame - prefetch->before, 1);
		__builtin_prefetch(frame + PREFETCH_FRAME_END);
	}
}
