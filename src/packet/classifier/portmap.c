/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/classifier/portmap.h"

#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/netaddr.h"
#include "packet/big_alloc.h"
#include "packet/classifier/port_pages.h"

enum {
	PROTOCOLS = 2,
	MAX_FOLDS = 4, /* factors to try; the first fit unless two prefixes collide in 32 bits */
};

const struct portmap_limits portmap_limits = {PORTMAP_MAX_MAPS, PORTMAP_MAX_PAGES, PORTMAP_FLAT_MAPS};

/* A prefix of the length whose levels are being built. */
struct member {
	uint32_t index; /* in the classifier */
	uint32_t key; /* for the perfect hash */
	bool late; /* it has the key of another member, so it waits for a further level */
};

struct builder {
	const struct classifier *classifier;
	struct portmap *portmap;
	uint32_t prefix_count;
	uint16_t (*maps)[PROTOCOLS]; /* by prefix */
	bool used[NETADDR_V6 + 1][129]; /* the prefix lengths in use, by family */
	struct member *members;
	uint32_t *keys; /* of the members that go into the next level */
};

static void count_misfit(struct portmap *portmap, const struct classify_prefix *prefix)
{
	portmap->misfits++;
	for (unsigned p = 0; p < PROTOCOLS; p++)
		for (uint32_t i = 0; i < prefix->counts[p]; i++)
			table_mask_add(&portmap->misfit_tables, prefix->ranges[p][i].order / 2);
}

static bool assign_maps(struct builder *builder, struct port_pages *pages)
{
	for (uint32_t i = 0; i < builder->prefix_count; i++) {
		struct classify_prefix prefix = classify_prefix_at(builder->classifier, i);
		bool misfit = false;

		builder->used[prefix.prefix.addr.family][prefix.prefix.length] = true;
		for (unsigned p = 0; p < PROTOCOLS; p++) {
			uint16_t parent = 0;

			if (prefix.parent != CLASSIFY_NO_PREFIX)
				parent = builder->maps[prefix.parent][p];
			if (!port_pages_map(pages, parent, prefix.ranges[p], prefix.counts[p], &builder->maps[i][p]))
				return false;
			misfit |= port_pages_misfit(pages, builder->maps[i][p]);
		}
		if (misfit)
			count_misfit(builder->portmap, &prefix);
	}
	return true;
}

static uint32_t collect_members(struct builder *builder, uint8_t family, unsigned length)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < builder->prefix_count; i++) {
		struct netprefix prefix = classify_prefix_at(builder->classifier, i).prefix;

		if (prefix.addr.family == family && prefix.length == length)
			builder->members[count++] = (struct member){.index = i};
	}
	return count;
}

static struct netprefix member_prefix(const struct builder *builder, const struct member *member)
{
	return classify_prefix_at(builder->classifier, member->index).prefix;
}

/*
 * Builds a perfect hash for as many members as possible, from the first on. Returns their number, or 0 if out of
 * memory.
 */
static uint32_t build_hash(struct builder *builder, struct perfect *hash, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		builder->keys[i] = builder->members[i].key;
	while (count && !perfect_build(hash, builder->keys, count))
		count /= 2;
	return count;
}

static void make_mask(uint8_t mask[16], unsigned size, unsigned length)
{
	memset(mask, 0xff, 16);
	netprefix_mask(mask, size, length);
}

/* Adds a level for the first members. Returns how many it holds, 0 if out of memory. */
static uint32_t add_v4_level(struct builder *builder, unsigned length, uint32_t count)
{
	struct portmap *portmap = builder->portmap;
	struct portmap_v4_level *level = realloc(portmap->v4, (portmap->v4_levels + 1) * sizeof(*level));
	uint8_t mask[16];
	uint32_t slots;

	if (!level)
		return 0;
	portmap->v4 = level;
	level += portmap->v4_levels;
	*level = (struct portmap_v4_level){0};
	for (uint32_t i = 0; i < count; i++)
		builder->members[i].key = load_le32(member_prefix(builder, &builder->members[i]).addr.bytes);
	make_mask(mask, 4, length);
	level->mask = load_le32(mask);
	count = build_hash(builder, &level->hash, count);
	if (!count)
		return 0;
	portmap->v4_levels++; /* from now on portmap_free() frees this level */
	slots = perfect_slots(&level->hash);
	level->slots = calloc(slots, sizeof(*level->slots));
	level->prefixes = calloc(slots, sizeof(*level->prefixes));
	if (!level->slots || !level->prefixes)
		return 0;
	for (uint32_t i = 0; i < slots; i++)
		level->slots[i].address = builder->keys[0];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = perfect_slot(&level->hash, builder->keys[i]), index = builder->members[i].index;

		level->slots[slot].address = builder->keys[i];
		memcpy(level->slots[slot].maps, builder->maps[index], sizeof(level->slots[slot].maps));
		level->prefixes[slot] = index;
	}
	portmap->memory += sizeof(*level) + slots * (sizeof(*level->slots) + sizeof(*level->prefixes)) +
			   4ul * perfect_buckets(&level->hash);
	return count;
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->late != b->late)
		return a->late ? 1 : -1;
	return a->key < b->key ? -1 : a->key > b->key;
}

/* Folds all members into keys, and moves those behind whose key another member has. Returns the number of
 * the others. */
static uint32_t fold_members(struct builder *builder, const uint32_t factors[4], uint32_t count)
{
	uint32_t distinct = count;

	for (uint32_t i = 0; i < count; i++) {
		struct member *member = &builder->members[i];
		struct netprefix prefix = member_prefix(builder, member);

		member->key = portmap_fold(factors, load_le64(prefix.addr.bytes), load_le64(prefix.addr.bytes + 8));
		member->late = false;
	}
	qsort(builder->members, count, sizeof(*builder->members), compare_members);
	for (uint32_t i = 1; i < count; i++)
		if (builder->members[i].key == builder->members[i - 1].key) {
			builder->members[i].late = true;
			distinct--;
		}
	if (distinct < count)
		qsort(builder->members, count, sizeof(*builder->members), compare_members);
	return distinct;
}

/* Adds a level for the first members, in any order. Returns how many it holds, 0 if out of memory. */
static uint32_t add_v6_level(struct builder *builder, unsigned length, uint32_t count)
{
	struct portmap *portmap = builder->portmap;
	struct portmap_v6_level *level = realloc(portmap->v6, (portmap->v6_levels + 1) * sizeof(*level));
	uint32_t slots, state = 1, distinct = 0;
	struct netprefix first;
	uint8_t mask[16];

	if (!level)
		return 0;
	portmap->v6 = level;
	level += portmap->v6_levels;
	*level = (struct portmap_v6_level){0};
	make_mask(mask, 16, length);
	memcpy(level->mask, mask, sizeof(level->mask));
	for (int tries = 0; distinct < count && tries < MAX_FOLDS; tries++) {
		for (unsigned f = 0; f < 4; f++)
			level->factors[f] = (state = state * 747796405u + 2891336453u) | 1;
		distinct = fold_members(builder, level->factors, count);
	}
	count = build_hash(builder, &level->hash, distinct);
	if (!count)
		return 0;
	portmap->v6_levels++;
	slots = perfect_slots(&level->hash);
	level->slots = calloc(slots, sizeof(*level->slots));
	if (!level->slots)
		return 0;
	first = member_prefix(builder, &builder->members[0]);
	for (uint32_t i = 0; i < slots; i++)
		memcpy(level->slots[i].address, first.addr.bytes, 16);
	for (uint32_t i = 0; i < count; i++) {
		struct portmap_v6_slot *slot = &level->slots[perfect_slot(&level->hash, builder->keys[i])];

		memcpy(slot->address, member_prefix(builder, &builder->members[i]).addr.bytes, 16);
		memcpy(slot->maps, builder->maps[builder->members[i].index], sizeof(slot->maps));
		slot->prefix = builder->members[i].index;
	}
	portmap->memory += sizeof(*level) + slots * sizeof(*level->slots) + 4ul * perfect_buckets(&level->hash);
	return count;
}

/* Adds levels until they hold all prefixes of a length. One level is enough unless there are very many prefixes. */
static bool add_levels(struct builder *builder, uint8_t family, unsigned length)
{
	uint32_t left = collect_members(builder, family, length);

	while (left) {
		uint32_t done = family == NETADDR_V4 ? add_v4_level(builder, length, left)
						     : add_v6_level(builder, length, left);

		if (!done)
			return false;
		left -= done;
		memmove(builder->members, builder->members + done, left * sizeof(*builder->members));
	}
	return true;
}

/* Returns whether page `number` is the same as page `number` - 1 in each map. */
static bool pages_repeat(const struct portmap *portmap, uint32_t number)
{
	const uint16_t *page = portmap->maps + number;
	bool repeat = number > 0;

	for (uint32_t map = 0; repeat && map < portmap->map_count; map++, page += PORTMAP_PAGE_PORTS)
		repeat = page[0] == page[-1];
	return repeat;
}

/* Makes the flat copy. Without memory for it, packets only take longer. */
static void flatten(struct portmap *portmap, const struct portmap_limits *limits)
{
	uint32_t maps = portmap->map_count;
	size_t size = (size_t)maps * PORTMAP_PAGE_PORTS; /* entries for the ports of a page */
	uint16_t *to;

	if (maps > limits->flat_maps)
		return;
	portmap->flat = to = big_alloc((size * PORTMAP_PAGE_PORTS + 1) * sizeof(*to));
	for (uint32_t number = 0; to && number < PORTMAP_PAGE_PORTS; number++, to += size) {
		if (pages_repeat(portmap, number)) {
			memcpy(to, to - size, size * sizeof(*to));
			continue;
		}
		for (uint32_t map = 0; map < maps; map++) {
			size_t page = portmap->maps[map * PORTMAP_PAGE_PORTS + number];
			const uint16_t *from = portmap->pages + page * PORTMAP_PAGE_PORTS;

			for (uint32_t port = 0; port < PORTMAP_PAGE_PORTS; port++)
				to[port * maps + map] = from[port];
		}
	}
	portmap->memory += portmap->flat ? size * PORTMAP_PAGE_PORTS * sizeof(*to) : 0;
}

static bool build(struct builder *builder, struct port_pages *pages)
{
	if (!builder->maps || !builder->members || !builder->keys || !pages || !assign_maps(builder, pages))
		return false;
	for (unsigned length = 129; length-- > 0;)
		for (uint8_t family = NETADDR_V4; family <= NETADDR_V6; family++)
			if (builder->used[family][length] && !add_levels(builder, family, length))
				return false;
	return true;
}

struct portmap *portmap_build(const struct classifier *classifier, const struct portmap_limits *limits)
{
	struct portmap *portmap = calloc(1, sizeof(*portmap));
	uint32_t count = classify_prefix_count(classifier);
	struct builder builder = {
		.classifier = classifier,
		.portmap = portmap,
		.prefix_count = count,
		.maps = calloc(count + 1, sizeof(*builder.maps)),
		.members = calloc(count + 1, sizeof(*builder.members)),
		.keys = calloc(count + 1, sizeof(*builder.keys)),
	};
	struct port_pages *pages = portmap ? port_pages_create(portmap, limits, count) : NULL;

	if (!build(&builder, pages)) {
		portmap_free(portmap);
		portmap = NULL;
	} else {
		portmap->memory += sizeof(*portmap) + port_pages_memory(pages);
		flatten(portmap, limits);
	}
	port_pages_free(pages);
	free(builder.maps);
	free(builder.members);
	free(builder.keys);
	return portmap;
}

void portmap_free(struct portmap *portmap)
{
	if (!portmap)
		return;
	for (unsigned i = 0; i < portmap->v4_levels; i++) {
		perfect_free(&portmap->v4[i].hash);
		free(portmap->v4[i].slots);
		free(portmap->v4[i].prefixes);
	}
	for (unsigned i = 0; i < portmap->v6_levels; i++) {
		perfect_free(&portmap->v6[i].hash);
		free(portmap->v6[i].slots);
	}
	free(portmap->v4);
	free(portmap->v6);
	free(portmap->maps);
	free(portmap->pages);
	free(portmap->flat);
	free(portmap);
}

/* The longest prefix that covers an address, or none. */
struct cover {
	const uint16_t *maps;
	uint32_t prefix;
};

/* Inlined, so that each caller loads only the member that it needs. */
static inline __attribute__((always_inline)) struct cover find_cover(
	const struct portmap *portmap, uint8_t family, const uint8_t *destination)
{
	static const uint16_t none[PROTOCOLS];
	uint64_t low, high;

	if (family == NETADDR_V4) {
		for (unsigned i = 0; i < portmap->v4_levels; i++) {
			const struct portmap_v4_level *level = &portmap->v4[i];
			uint32_t address = load_le32(destination) & level->mask;
			uint32_t slot = perfect_slot(&level->hash, address);

			if (level->slots[slot].address == address)
				return (struct cover){level->slots[slot].maps, level->prefixes[slot]};
		}
		return (struct cover){none, CLASSIFY_NO_PREFIX};
	}
	for (unsigned i = 0; i < portmap->v6_levels; i++) {
		const struct portmap_v6_level *level = &portmap->v6[i];
		const struct portmap_v6_slot *slot;

		low = load_le64(destination) & level->mask[0];
		high = load_le64(destination + 8) & level->mask[1];
		slot = &level->slots[perfect_slot(&level->hash, portmap_fold(level->factors, low, high))];
		if (slot->address[0] == low && slot->address[1] == high)
			return (struct cover){slot->maps, slot->prefix};
	}
	return (struct cover){none, CLASSIFY_NO_PREFIX};
}

uint32_t portmap_prefix(const struct portmap *portmap, uint8_t family, const uint8_t *destination)
{
	return find_cover(portmap, family, destination).prefix;
}

int portmap_find(
	const struct portmap *portmap, uint8_t family, const uint8_t *destination, uint8_t protocol, uint16_t port)
{
	size_t map = find_cover(portmap, family, destination).maps[protocol == TABLE_UDP];
	uint16_t entry;

	if (portmap->flat) {
		entry = portmap->flat[(size_t)port * portmap->map_count + map];
	} else {
		size_t page = portmap->maps[map * PORTMAP_PAGE_PORTS + port / PORTMAP_PAGE_PORTS];

		entry = portmap->pages[page * PORTMAP_PAGE_PORTS + port % PORTMAP_PAGE_PORTS];
	}
	return entry == PORTMAP_MISFIT ? PORTMAP_UNKNOWN : entry - 1;
}
