/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The burst that is next, on its way into the caches while this one is worked on. Memory delivers
 * only so many lines at a time, and who asks for more waits: so the stages ask for a few packets
 * every now and then. Nothing is read, and a wrong address costs nothing but a line.
 */
#ifndef GLB_PACKET_PREFETCH_H
#define GLB_PACKET_PREFETCH_H

#include <stdint.h>

struct prefetch {
	void *const *next; /* packets: what describes each, and not far behind it its frame */
	uint32_t left; /* of them */
	uint32_t frame_offset; /* from the one to the other, as drivers place it */
};

/* The last byte of a frame that ordinary packets are steered by: IPv6's ports. */
#define PREFETCH_FRAME_END 57

/* So many packets at most. */
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

		/* The outer headers begin in the first of the frame's lines, as MBUF_PRIVATE_SIZE places it. */
		__builtin_prefetch(packet, 1);
		__builtin_prefetch(frame, 1);
		__builtin_prefetch(frame + PREFETCH_FRAME_END);
	}
}

#endif
