/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/portmap.h"

#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/netaddr.h"

enum {
	PROTOCOLS = 2,
	RECIPE_SLOTS = 4 * PORTMAP_MAX_MAPS,
	MAX_FOLDS = 64, /* factors to try; the first fit unless two prefixes collide in 32 bits */
};

/*
 * The input for a port map: the map of the parent prefix and the port ranges of the prefix itself. Equal recipes make
 * equal maps.
 */
struct recipe {
	uint32_t parent_map;
	const struct classify_range *ranges;
	uint32_t count;
	uint32_t map; /* the result; 0: this slot of `recipes` is free */
};

struct builder {
	const struct classifier *classifier;
	struct portmap *portmap;
	uint32_t prefix_count;
	uint16_t (*maps)[PROTOCOLS]; /* by prefix */
	bool used[NETADDR_V6 + 1][129]; /* the prefix lengths in use, by family */
	uint32_t room; /* maps that portmap->maps has memory for */
	struct recipe recipes[RECIPE_SLOTS]; /* hash table with open addressing */
	/* The level that is being built: indices of its prefixes, and their keys for the perfect hash. */
	uint32_t *members, *keys;
	uint32_t member_count;
};

static uint32_t hash_recipe(const struct recipe *recipe)
{
	uint64_t hash = recipe->parent_map;

	for (uint32_t i = 0; i < recipe->count; i++) {
		const struct classify_range *range = &recipe->ranges[i];

		hash = (hash ^ range->start ^ (uint64_t)range->end << 16 ^ (uint64_t)range->table << 32) *
		       0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash >> 20) % RECIPE_SLOTS;
}

static bool same_recipe(const struct recipe *a, const struct recipe *b)
{
	if (a->parent_map != b->parent_map || a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->ranges[i].start != b->ranges[i].start || a->ranges[i].end != b->ranges[i].end ||
			a->ranges[i].table != b->ranges[i].table)
			return false;
	return true;
}

/*
 * Copies the map of the parent, and writes each range over ports whose table is higher or missing. Returns 0 if there
 * is no room.
 */
static uint32_t make_map(struct builder *builder, const struct recipe *recipe)
{
	struct portmap *portmap = builder->portmap;
	uint8_t *map;

	if (portmap->map_count == PORTMAP_MAX_MAPS)
		return 0;
	if (portmap->map_count == builder->room) {
		uint32_t room = builder->room ? 2 * builder->room : 4;
		uint8_t *maps = realloc(portmap->maps, (size_t)room * PORTMAP_PORTS + 3);

		if (!maps)
			return 0;
		portmap->maps = maps;
		builder->room = room;
	}
	map = portmap->maps + (size_t)portmap->map_count * PORTMAP_PORTS;
	if (portmap->map_count)
		memcpy(map, portmap->maps + (size_t)recipe->parent_map * PORTMAP_PORTS, PORTMAP_PORTS);
	else
		memset(map, 0, PORTMAP_PORTS);
	for (uint32_t i = 0; i < recipe->count; i++) {
		uint8_t value = (uint8_t)(recipe->ranges[i].table + 1);

		for (uint32_t port = recipe->ranges[i].start; port <= recipe->ranges[i].end; port++)
			if (!map[port] || value < map[port])
				map[port] = value;
	}
	return portmap->map_count++;
}

/* Finds or makes the port map of a prefix for protocol p. False: no room. */
static bool assign_map(struct builder *builder, uint32_t index, unsigned p)
{
	struct classify_prefix prefix = classify_prefix_at(builder->classifier, index);
	struct recipe recipe = {.ranges = prefix.ranges[p], .count = prefix.counts[p]};
	uint32_t slot;

	if (prefix.parent != CLASSIFY_NO_PARENT)
		recipe.parent_map = builder->maps[prefix.parent][p];
	builder->maps[index][p] = (uint16_t)recipe.parent_map;
	if (recipe.count == 0)
		return true;
	slot = hash_recipe(&recipe);
	while (builder->recipes[slot].map && !same_recipe(&builder->recipes[slot], &recipe))
		slot = (slot + 1) % RECIPE_SLOTS;
	if (!builder->recipes[slot].map) {
		recipe.map = make_map(builder, &recipe);
		if (!recipe.map)
			return false;
		builder->recipes[slot] = recipe;
	}
	builder->maps[index][p] = (uint16_t)builder->recipes[slot].map;
	return true;
}

static bool assign_maps(struct builder *builder)
{
	make_map(builder, &(struct recipe){0});
	if (builder->portmap->map_count != 1)
		return false;
	for (uint32_t i = 0; i < builder->prefix_count; i++) {
		struct netprefix prefix = classify_prefix_at(builder->classifier, i).prefix;

		builder->used[prefix.addr.family][prefix.length] = true;
		for (unsigned p = 0; p < PROTOCOLS; p++)
			if (!assign_map(builder, i, p))
				return false;
	}
	return true;
}

static void collect_members(struct builder *builder, uint8_t family, unsigned length)
{
	builder->member_count = 0;
	for (uint32_t i = 0; i < builder->prefix_count; i++) {
		struct netprefix prefix = classify_prefix_at(builder->classifier, i).prefix;

		if (prefix.addr.family == family && prefix.length == length)
			builder->members[builder->member_count++] = i;
	}
}

static struct netprefix member(const struct builder *builder, uint32_t i)
{
	return classify_prefix_at(builder->classifier, builder->members[i]).prefix;
}

static void make_mask(uint8_t mask[16], unsigned size, unsigned length)
{
	memset(mask, 0xff, 16);
	netprefix_mask(mask, size, length);
}

static bool build_v4_level(struct builder *builder, unsigned length)
{
	struct portmap *portmap = builder->portmap;
	struct portmap_v4_level *level = &portmap->v4[portmap->v4_levels];
	uint8_t mask[16];
	uint32_t slots;

	for (uint32_t i = 0; i < builder->member_count; i++)
		builder->keys[i] = load_le32(member(builder, i).addr.bytes);
	make_mask(mask, 4, length);
	level->mask = load_le32(mask);
	if (!perfect_build(&level->hash, builder->keys, builder->member_count))
		return false;
	portmap->v4_levels++; /* from now on portmap_free() frees this level */
	slots = perfect_slots(&level->hash);
	level->slots = calloc(slots, sizeof(*level->slots));
	if (!level->slots)
		return false;
	for (uint32_t i = 0; i < slots; i++)
		level->slots[i].address = builder->keys[0];
	for (uint32_t i = 0; i < builder->member_count; i++) {
		struct portmap_v4_slot *slot = &level->slots[perfect_slot(&level->hash, builder->keys[i])];

		slot->address = builder->keys[i];
		memcpy(slot->maps, builder->maps[builder->members[i]], sizeof(slot->maps));
	}
	portmap->memory += slots * sizeof(*level->slots) + 4ul * perfect_buckets(&level->hash);
	return true;
}

static int compare_keys(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Finds factors with which all prefixes of the level fold to different keys. */
static bool fold_members(struct builder *builder, struct portmap_v6_level *level)
{
	uint32_t state = 1, *sorted = calloc(builder->member_count, sizeof(*sorted));
	bool distinct = false;

	for (int tries = 0; sorted && !distinct && tries < MAX_FOLDS; tries++) {
		for (unsigned f = 0; f < 4; f++)
			level->factors[f] = (state = state * 747796405u + 2891336453u) | 1;
		for (uint32_t i = 0; i < builder->member_count; i++) {
			struct netprefix prefix = member(builder, i);

			sorted[i] = builder->keys[i] = portmap_fold(
				level->factors, load_le64(prefix.addr.bytes), load_le64(prefix.addr.bytes + 8));
		}
		qsort(sorted, builder->member_count, sizeof(*sorted), compare_keys);
		distinct = true;
		for (uint32_t i = 1; i < builder->member_count; i++)
			distinct &= sorted[i] != sorted[i - 1];
	}
	free(sorted);
	return distinct;
}

static bool build_v6_level(struct builder *builder, unsigned length)
{
	struct portmap *portmap = builder->portmap;
	struct portmap_v6_level *level = &portmap->v6[portmap->v6_levels];
	struct netprefix first = member(builder, 0);
	uint8_t mask[16];
	uint32_t slots;

	make_mask(mask, 16, length);
	memcpy(level->mask, mask, sizeof(level->mask));
	if (!fold_members(builder, level) || !perfect_build(&level->hash, builder->keys, builder->member_count))
		return false;
	portmap->v6_levels++;
	slots = perfect_slots(&level->hash);
	level->slots = calloc(slots, sizeof(*level->slots));
	if (!level->slots)
		return false;
	for (uint32_t i = 0; i < slots; i++)
		memcpy(level->slots[i].address, first.addr.bytes, 16);
	for (uint32_t i = 0; i < builder->member_count; i++) {
		struct portmap_v6_slot *slot = &level->slots[perfect_slot(&level->hash, builder->keys[i])];

		memcpy(slot->address, member(builder, i).addr.bytes, 16);
		memcpy(slot->maps, builder->maps[builder->members[i]], sizeof(slot->maps));
	}
	portmap->memory += slots * sizeof(*level->slots) + 4ul * perfect_buckets(&level->hash);
	return true;
}

static bool build_levels(struct builder *builder)
{
	struct portmap *portmap = builder->portmap;

	for (unsigned length = 129; length-- > 0;) {
		if (builder->used[NETADDR_V4][length]) {
			collect_members(builder, NETADDR_V4, length);
			if (portmap->v4_levels == PORTMAP_MAX_LEVELS || !build_v4_level(builder, length))
				return false;
		}
		if (builder->used[NETADDR_V6][length]) {
			collect_members(builder, NETADDR_V6, length);
			if (portmap->v6_levels == PORTMAP_MAX_LEVELS || !build_v6_level(builder, length))
				return false;
		}
	}
	return true;
}

struct portmap *portmap_build(const struct classifier *classifier)
{
	struct builder *builder = calloc(1, sizeof(*builder));
	struct portmap *portmap = calloc(1, sizeof(*portmap));
	bool done = false;

	if (builder && portmap) {
		uint32_t count = classify_prefix_count(classifier);

		builder->classifier = classifier;
		builder->portmap = portmap;
		builder->prefix_count = count;
		builder->maps = calloc(count + 1, sizeof(*builder->maps));
		builder->members = calloc(count + 1, sizeof(*builder->members));
		builder->keys = calloc(count + 1, sizeof(*builder->keys));
		done = builder->maps && builder->members && builder->keys && assign_maps(builder) &&
		       build_levels(builder);
		portmap->memory += sizeof(*portmap) + (size_t)builder->room * PORTMAP_PORTS;
		free(builder->maps);
		free(builder->members);
		free(builder->keys);
	}
	free(builder);
	if (done)
		return portmap;
	portmap_free(portmap);
	return NULL;
}

void portmap_free(struct portmap *portmap)
{
	if (!portmap)
		return;
	for (unsigned i = 0; i < portmap->v4_levels; i++) {
		perfect_free(&portmap->v4[i].hash);
		free(portmap->v4[i].slots);
	}
	for (unsigned i = 0; i < portmap->v6_levels; i++) {
		perfect_free(&portmap->v6[i].hash);
		free(portmap->v6[i].slots);
	}
	free(portmap->maps);
	free(portmap);
}

static const uint16_t *find_maps(const struct portmap *portmap, uint8_t family, const uint8_t *destination)
{
	static const uint16_t none[PROTOCOLS];
	uint64_t low, high;

	if (family == NETADDR_V4) {
		for (unsigned i = 0; i < portmap->v4_levels; i++) {
			const struct portmap_v4_level *level = &portmap->v4[i];
			uint32_t address = load_le32(destination) & level->mask;
			const struct portmap_v4_slot *slot = &level->slots[perfect_slot(&level->hash, address)];

			if (slot->address == address)
				return slot->maps;
		}
		return none;
	}
	for (unsigned i = 0; i < portmap->v6_levels; i++) {
		const struct portmap_v6_level *level = &portmap->v6[i];
		const struct portmap_v6_slot *slot;

		low = load_le64(destination) & level->mask[0];
		high = load_le64(destination + 8) & level->mask[1];
		slot = &level->slots[perfect_slot(&level->hash, portmap_fold(level->factors, low, high))];
		if (slot->address[0] == low && slot->address[1] == high)
			return slot->maps;
	}
	return none;
}

int portmap_find(
	const struct portmap *portmap, uint8_t family, const uint8_t *destination, uint8_t protocol, uint16_t port)
{
	size_t map = find_maps(portmap, family, destination)[protocol == TABLE_UDP];

	return portmap->maps[map * PORTMAP_PORTS + port] - 1;
}
