/* SPDX-License-Identifier: BSD-3-Clause */
/* A cursor over bytes that the caller owns. It never leaves its bounds. Pure, thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	const uint8_t *at, *end;
};

static inline struct span span_of(const uint8_t *bytes, size_t size)
{
	return (struct span){.at = bytes, .end = bytes + size};
}

static inline size_t span_size(const struct span *span)
{
	return (size_t)(span->end - span->at);
}

/* Returns the next `size` bytes, or NULL if there are fewer. */
static inline const uint8_t *span_peek(const struct span *span, size_t size)
{
	return span_size(span) >= size ? span->at : NULL;
}

/* The same, and moves the cursor past them. */
static inline const uint8_t *span_take(struct span *span, size_t size)
{
	const uint8_t *at = span_peek(span, size);

	if (at)
		span->at += size;
	return at;
}

/* Keeps only the next `size` bytes. False, without a change, if there are fewer. */
static inline bool span_cut(struct span *span, size_t size)
{
	if (span_size(span) < size)
		return false;
	span->end = span->at + size;
	return true;
}
