/* SPDX-License-Identifier: BSD-3-Clause */
/* A bounded cursor over bytes that somebody else owns: no step leaves the bounds. Pure, thread-safe. */
#ifndef GLB_COMMON_SPAN_H
#define GLB_COMMON_SPAN_H

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

/* The next `size` bytes, or NULL where there are fewer. */
static inline const uint8_t *span_peek(const struct span *span, size_t size)
{
	return span_size(span) >= size ? span->at : NULL;
}

/* span_peek(), and moves behind them. */
static inline const uint8_t *span_take(struct span *span, size_t size)
{
	const uint8_t *at = span_peek(span, size);

	if (at)
		span->at += size;
	return at;
}

/* Keeps only the next `size` bytes; false, and nothing changed, where there are fewer. */
static inline bool span_cut(struct span *span, size_t size)
{
	if (span_size(span) < size)
		return false;
	span->end = span->at + size;
	return true;
}

#endif
