/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/statsd/statsd_map.h"

#include <stdlib.h>

#define FIRST_ROOM 1024

/* Returns the entry of the key, or the free one where it belongs. There must be a free one. */
static struct statsd_map_entry *find(const struct statsd_map *map, uint64_t key)
{
	size_t at = key & (map->room - 1);

	while (map->entries[at].key && map->entries[at].key != key)
		at = (at + 1) & (map->room - 1);
	return &map->entries[at];
}

static bool grow(struct statsd_map *map)
{
	struct statsd_map larger = {.room = map->room ? 2 * map->room : FIRST_ROOM, .count = map->count};

	larger.entries = calloc(larger.room, sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	for (size_t i = 0; i < map->room; i++)
		if (map->entries[i].key)
			*find(&larger, map->entries[i].key) = map->entries[i];
	free(map->entries);
	*map = larger;
	return true;
}

bool statsd_map_set(struct statsd_map *map, uint64_t key, double value)
{
	struct statsd_map_entry *entry;

	if (2 * map->count >= map->room && !grow(map))
		return false;
	entry = find(map, key);
	map->count += !entry->key;
	*entry = (struct statsd_map_entry){key, value};
	return true;
}

double statsd_map_get(const struct statsd_map *map, uint64_t key, bool *found)
{
	const struct statsd_map_entry *entry = map->room ? find(map, key) : NULL;
	bool known = entry && entry->key;

	if (found)
		*found = known;
	return known ? entry->value : 0;
}

void statsd_map_free(struct statsd_map *map)
{
	free(map->entries);
	*map = (struct statsd_map){0};
}
