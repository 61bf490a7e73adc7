/* SPDX-License-Identifier: BSD-3-Clause */
/* Times as people write them in files: "2026-01-01T00:00:00Z", and nothing else. Pure, thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define UTC_TEXT_MAX 24

/* Returns false for a time before 2026: a clock that says so was never set. */
static inline bool utc_is_set(int64_t unix_s)
{
	return unix_s >= INT64_C(1767225600);
}

/* Parses a time in UTC, of the years 1970 to 9999. False: *unix_s is unchanged. */
bool utc_parse(const char *text, int64_t *unix_s);

#define UTC_DATE   "%Y-%m-%d"
#define UTC_PEOPLE "%Y-%m-%d %H:%M:%S UTC"

/* Writes a time as strftime() does, and returns buf. Writes "an unknown time" for a time outside these years. */
const char *utc_strftime(int64_t unix_s, const char *format, char buf[UTC_TEXT_MAX]);

/* The same as utc_parse() parses it. */
const char *utc_format(int64_t unix_s, char buf[UTC_TEXT_MAX]);
