/* SPDX-License-Identifier: BSD-3-Clause */
/* Remembers a number for each of many keys. The keys are hashes, so two texts with one hash are the same.
 * One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct statsd_map_entry {
	uint64_t key; /* 0: the entry is free */
	double value;
};

/* All zeros is an empty map. */
struct statsd_map {
	struct statsd_map_entry *entries;
	size_t count;
	size_t room; /* a power of two, or 0 */
};

/* Sets the number of a key, which is not 0. False: out of memory. */
bool statsd_map_set(struct statsd_map *map, uint64_t key, double value);

/* Returns the number of the key, or 0 if it has none. *found (may be NULL): it has one. */
double statsd_map_get(const struct statsd_map *map, uint64_t key, bool *found);

void statsd_map_free(struct statsd_map *map);
