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
	/* Offsets from the frame of bytes in other cache lines: where the outer headers start, and the last byte that
	 * is read. third: 0 if it is in one of the other lines */
	int32_t second, third;
};

/* Offset of the last byte that the fast path reads of a frame: the end of the ports behind an IPv4 or IPv6 header. */
#define PREFETCH_FRAME_END_IPV4 37
#define PREFETCH_FRAME_END      57

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

		__builtin_prefetch(packet, 1);
		__builtin_prefetch(frame, 1);
		__builtin_prefetch(frame + prefetch->second, 1);
		if (prefetch->third)
			__builtin_prefetch(frame + prefetch->third);
	}
}
