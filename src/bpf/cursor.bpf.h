/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * A bounded walk through a packet, in the shape that the verifier of Linux 5.10 can follow: the
 * position is a number that is checked against a constant, then against the packet, each time that
 * bytes are taken.
 */
#ifndef GLB_BPF_CURSOR_BPF_H
#define GLB_BPF_CURSOR_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

/*
 * The verifier tracks packet offsets up to 0xffff; the longest chain of headers that is walked ends
 * near 0x8200.
 */
#define CURSOR_LIMIT 0xf000

struct cursor {
	void *frame, *frame_end; /* what the kernel lets us read */
	__u64 at; /* offset of the next byte */
	__u64 end; /* offset behind what is parsed: lengths in headers shrink it */
};

static __always_inline struct cursor cursor_of(const struct xdp_md *context)
{
	void *frame = (void *)(long)context->data, *frame_end = (void *)(long)context->data_end;

	return (struct cursor){.frame = frame, .frame_end = frame_end, .end = frame_end - frame};
}

/* A packet that lies from `at` up to `end` in the frame. */
static __always_inline struct cursor cursor_within(const struct xdp_md *context, __u32 at, __u32 end)
{
	struct cursor cursor = cursor_of(context);

	cursor.at = at;
	cursor.end = end;
	return cursor;
}

/* The `size` bytes (a constant) at the cursor, or NULL. */
static __always_inline void *cursor_peek(const struct cursor *cursor, __u32 size)
{
	__u64 at = cursor->at;
	void *bytes;

	/* Opaque to the compiler, so that it adds the very register that it compared. */
	asm volatile("" : "+r"(at));
	if (at > CURSOR_LIMIT || at + size > cursor->end)
		return NULL;
	bytes = cursor->frame + at;
	return bytes + size > cursor->frame_end ? NULL : bytes;
}

/* As cursor_peek(), and moves behind them. */
static __always_inline void *cursor_take(struct cursor *cursor, __u32 size)
{
	void *bytes = cursor_peek(cursor, size);

	if (bytes)
		cursor->at += size;
	return bytes;
}

/* Moves on by a number that comes from the packet; false where that is beyond the end. */
static __always_inline bool cursor_skip(struct cursor *cursor, __u32 size)
{
	if (cursor->at + size > cursor->end)
		return false;
	cursor->at += size;
	return true;
}

/*
 * Ends the packet `size` bytes from here, for a header's claim; false where that is beyond the end.
 */
static __always_inline bool cursor_cut(struct cursor *cursor, __u32 size)
{
	if (cursor->at + size > cursor->end)
		return false;
	cursor->end = cursor->at + size;
	return true;
}

#endif
