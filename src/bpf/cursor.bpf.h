/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * A position in a packet, and bounds checks in a form that the verifier of Linux 5.10 understands. The
 * position is an offset. Each access compares it with a constant, and then with the packet's end.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

/*
 * The verifier tracks packet offsets up to 0xffff. The longest chain of headers that redirect parses
 * ends near 0x8200.
 */
#define CURSOR_LIMIT 0xf000

struct cursor {
	void *frame, *frame_end; /* the bytes that the kernel lets the program read */
	__u64 at; /* offset of the next byte in the frame */
	__u64 end; /* offset of the packet's end in the frame; a header's length field can lower it */
};

/* A cursor at the start of the frame. */
static __always_inline struct cursor cursor_of(const struct xdp_md *context)
{
	void *frame = (void *)(long)context->data, *frame_end = (void *)(long)context->data_end;

	return (struct cursor){.frame = frame, .frame_end = frame_end, .end = frame_end - frame};
}

/* A cursor at the start of the packet that occupies offsets `at` to `end` of the frame. */
static __always_inline struct cursor cursor_within(const struct xdp_md *context, __u32 at, __u32 end)
{
	struct cursor cursor = cursor_of(context);

	cursor.at = at;
	cursor.end = end;
	return cursor;
}

/* Returns the next `size` bytes, or NULL if the packet is too short. `size` must be a compile-time constant. */
static __always_inline void *cursor_peek(const struct cursor *cursor, __u32 size)
{
	__u64 at = cursor->at;
	void *bytes;

	/* Hides `at` from the optimizer, so that it adds the same register that it compared. */
	asm volatile("" : "+r"(at));
	if (at > CURSOR_LIMIT || at + size > cursor->end)
		return NULL;
	bytes = cursor->frame + at;
	return bytes + size > cursor->frame_end ? NULL : bytes;
}

/* Like cursor_peek(), but also moves the cursor past these bytes. */
static __always_inline void *cursor_take(struct cursor *cursor, __u32 size)
{
	void *bytes = cursor_peek(cursor, size);

	if (bytes)
		cursor->at += size;
	return bytes;
}

/* Moves the cursor by `size` bytes, which may come from the packet. Returns false if the packet is too short. */
static __always_inline bool cursor_skip(struct cursor *cursor, __u32 size)
{
	if (cursor->at + size > cursor->end)
		return false;
	cursor->at += size;
	return true;
}

/* Shortens the packet to `size` bytes from the cursor. Returns false if the packet is shorter already. */
static __always_inline bool cursor_cut(struct cursor *cursor, __u32 size)
{
	if (cursor->at + size > cursor->end)
		return false;
	cursor->end = cursor->at + size;
	return true;
}
