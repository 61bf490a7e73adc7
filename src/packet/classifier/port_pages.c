/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/classifier/port_pages.h"

#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"

enum {
	PORTS = PORTMAP_PAGE_PORTS,
	PAGES = 65536 / PORTS, /* pages of a map */
	PAGE_SIZE = PORTS * sizeof(uint16_t),
	EMPTY = 0, /* the map and the page that have only PORTMAP_NONE */
	MISFIT = 1, /* the map and the page that have only PORTMAP_MISFIT */
	NO_SLOT = UINT32_MAX,
	TAIL = 2, /* bytes behind each array */
};

/* The input for a port map. Equal recipes give equal maps. */
struct recipe {
	const struct classify_range *ranges;
	uint32_t count; /* 0: this slot of `recipes` is free */
	uint16_t parent, map; /* `map` is the result */
};

struct port_pages {
	struct portmap *portmap;
	struct portmap_limits limits;
	uint32_t map_room, page_room; /* elements that portmap->maps and portmap->pages have memory for */
	struct recipe *recipes; /* hash table with open addressing, at most half full */
	uint32_t recipe_mask;
	uint32_t *page_slots; /* hash table of pages with open addressing: page or NO_SLOT; at most half full */
	uint32_t page_mask;
	uint16_t uniform[PORTMAP_MISFIT + 1]; /* the page that has only this entry; EMPTY: there is none yet */
	bool any_misfit;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint16_t *page_at(const struct port_pages *store, uint32_t page)
{
	return store->portmap->pages + (size_t)page * PORTS;
}

static uint32_t hash_page(const uint16_t entries[PORTS])
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < PORTS; i += 4)
		hash = mix(hash, load_le64(entries + i));
	return (uint32_t)(hash >> 16);
}

/* The slot of the page with these entries, or the free slot for it. */
static uint32_t *find_page(const struct port_pages *store, const uint16_t entries[PORTS])
{
	uint32_t slot = hash_page(entries) & store->page_mask;

	while (store->page_slots[slot] != NO_SLOT &&
		memcmp(page_at(store, store->page_slots[slot]), entries, PAGE_SIZE) != 0)
		slot = (slot + 1) & store->page_mask;
	return &store->page_slots[slot];
}

/* Doubles the room for pages, and the hash table. */
static bool grow_pages(struct port_pages *store)
{
	uint32_t room = store->page_room ? 2 * store->page_room : 16;
	uint16_t *pages = realloc(store->portmap->pages, (size_t)room * PAGE_SIZE + TAIL);
	uint32_t *slots;

	if (!pages)
		return false;
	store->portmap->pages = pages;
	slots = realloc(store->page_slots, 2ul * room * sizeof(*slots));
	if (!slots)
		return false;
	memset(slots, 0xff, 2ul * room * sizeof(*slots));
	store->page_slots = slots;
	store->page_mask = 2 * room - 1;
	store->page_room = room;
	for (uint32_t page = 0; page < store->portmap->page_count; page++)
		*find_page(store, page_at(store, page)) = page;
	return true;
}

/* Finds or adds a page. Without room it is MISFIT. */
static bool add_page(struct port_pages *store, const uint16_t entries[PORTS], uint16_t *page)
{
	struct portmap *portmap = store->portmap;
	uint32_t *slot;

	if (portmap->page_count == store->page_room && store->page_room < store->limits.pages && !grow_pages(store))
		return false;
	slot = find_page(store, entries);
	*page = MISFIT;
	if (*slot != NO_SLOT) {
		*page = (uint16_t)*slot;
	} else if (portmap->page_count < store->limits.pages) {
		memcpy(page_at(store, portmap->page_count), entries, PAGE_SIZE);
		*page = (uint16_t)(*slot = portmap->page_count++);
	} else {
		store->any_misfit = true;
	}
	return true;
}

static void fill(uint16_t entries[PORTS], uint16_t entry)
{
	for (unsigned i = 0; i < PORTS; i++)
		entries[i] = entry;
}

/* Finds or adds the page that has only `entry`. */
static bool add_uniform(struct port_pages *store, uint16_t entry, uint16_t *page)
{
	uint16_t entries[PORTS];

	*page = store->uniform[entry];
	if (*page != EMPTY || entry == PORTMAP_NONE)
		return true;
	fill(entries, entry);
	if (!add_page(store, entries, page))
		return false;
	store->uniform[entry] = *page;
	return true;
}

/* The entry of a port that a prefix inherits as `entry`, and for which the prefix itself has a bind. */
static uint16_t lower(uint16_t entry, uint16_t own)
{
	return entry == PORTMAP_NONE || (own < entry && entry != PORTMAP_MISFIT) ? own : entry;
}

/* Writes the part of the ranges that is in page `number` of a map. Returns the ranges that end before the next page. */
static uint32_t write_page(uint16_t entries[PORTS], uint32_t number, const struct classify_range *ranges, uint32_t count)
{
	uint32_t first = number * PORTS, last = first + PORTS - 1, i = 0;

	for (; i < count && ranges[i].start <= last; i++) {
		uint32_t from = ranges[i].start > first ? ranges[i].start : first;
		uint32_t to = ranges[i].end < last ? ranges[i].end : last;

		for (uint32_t port = from; port <= to; port++)
			entries[port - first] = lower(entries[port - first], (uint16_t)(ranges[i].order + 1));
		if (ranges[i].end > last)
			break;
	}
	return i;
}

/* Fills the pages of a map that the ranges are in. *pages has the parent's. */
static bool fill_pages(
	struct port_pages *store, uint16_t pages[PAGES], const struct classify_range *ranges, uint32_t count)
{
	uint32_t at = 0, number = 0;

	while (at < count) {
		uint16_t entries[PORTS];
		bool done;

		if (number < ranges[at].start / (uint32_t)PORTS)
			number = ranges[at].start / (uint32_t)PORTS;
		memcpy(entries, page_at(store, pages[number]), PAGE_SIZE);
		if (ranges[at].start <= number * PORTS && ranges[at].end >= number * PORTS + PORTS - 1 &&
			store->uniform[entries[0]] == pages[number]) {
			done = add_uniform(store, lower(entries[0], (uint16_t)(ranges[at].order + 1)), &pages[number]);
			at += ranges[at].end == number * PORTS + PORTS - 1;
		} else {
			at += write_page(entries, number, ranges + at, count - at);
			done = add_page(store, entries, &pages[number]);
		}
		if (!done)
			return false;
		number++;
	}
	return true;
}

/* Adds a map with these pages. */
static bool add_map(struct port_pages *store, const uint16_t pages[PAGES], uint16_t *map)
{
	struct portmap *portmap = store->portmap;

	if (portmap->map_count == store->map_room) {
		uint32_t room = store->map_room ? 2 * store->map_room : 8;
		uint16_t *maps = realloc(portmap->maps, (size_t)room * PAGES * sizeof(*maps) + TAIL);

		if (!maps)
			return false;
		portmap->maps = maps;
		store->map_room = room;
	}
	memcpy(portmap->maps + (size_t)portmap->map_count * PAGES, pages, PAGES * sizeof(*pages));
	*map = (uint16_t)portmap->map_count++;
	return true;
}

static bool same_recipe(const struct recipe *a, const struct recipe *b)
{
	if (a->parent != b->parent || a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->ranges[i].start != b->ranges[i].start || a->ranges[i].end != b->ranges[i].end ||
			a->ranges[i].order != b->ranges[i].order)
			return false;
	return true;
}

/* The slot of an equal recipe, or the free slot for it. */
static struct recipe *find_recipe(const struct port_pages *store, const struct recipe *recipe)
{
	uint64_t hash = recipe->parent;
	uint32_t slot;

	for (uint32_t i = 0; i < recipe->count; i++) {
		const struct classify_range *range = &recipe->ranges[i];

		hash = mix(hash, range->start ^ (uint64_t)range->end << 16 ^ (uint64_t)range->order << 32);
	}
	slot = (uint32_t)(hash >> 16) & store->recipe_mask;
	while (store->recipes[slot].count && !same_recipe(&store->recipes[slot], recipe))
		slot = (slot + 1) & store->recipe_mask;
	return &store->recipes[slot];
}

bool port_pages_map(
	struct port_pages *store, uint16_t parent, const struct classify_range *ranges, uint32_t count, uint16_t *map)
{
	struct recipe recipe = {.ranges = ranges, .count = count, .parent = parent}, *slot;
	uint16_t pages[PAGES];

	*map = parent;
	if (count == 0 || parent == MISFIT)
		return true;
	slot = find_recipe(store, &recipe);
	if (!slot->count && store->portmap->map_count == store->limits.maps) {
		store->any_misfit = true;
		*map = MISFIT;
		return true;
	}
	if (!slot->count) {
		memcpy(pages, store->portmap->maps + (size_t)parent * PAGES, sizeof(pages));
		if (!fill_pages(store, pages, ranges, count) || !add_map(store, pages, &recipe.map))
			return false;
		*slot = recipe;
	}
	*map = slot->map;
	return true;
}

bool port_pages_misfit(const struct port_pages *store, uint16_t map)
{
	bool misfit = false;

	for (uint32_t i = 0; store->any_misfit && i < PAGES; i++)
		misfit |= store->portmap->maps[(size_t)map * PAGES + i] == MISFIT;
	return misfit;
}

size_t port_pages_memory(const struct port_pages *store)
{
	return (size_t)store->map_room * PAGES * sizeof(*store->portmap->maps) + (size_t)store->page_room * PAGE_SIZE;
}

/* Adds the map and the page that have only `entry`. */
static bool add_constant(struct port_pages *store, uint16_t entry, uint16_t expected)
{
	uint16_t entries[PORTS];
	uint16_t pages[PAGES], page, map;

	fill(entries, entry);
	if (!add_page(store, entries, &page))
		return false;
	for (unsigned i = 0; i < PAGES; i++)
		pages[i] = page;
	store->uniform[entry] = page;
	return add_map(store, pages, &map) && page == expected && map == expected;
}

struct port_pages *port_pages_create(struct portmap *portmap, const struct portmap_limits *limits, uint32_t prefixes)
{
	struct port_pages *store = calloc(1, sizeof(*store));
	uint32_t slots = 16;

	if (!store)
		return NULL;
	while (slots < 4 * prefixes) /* a recipe for each protocol, twice as many slots */
		slots *= 2;
	store->portmap = portmap;
	store->limits = *limits;
	store->recipe_mask = slots - 1;
	store->recipes = calloc(slots, sizeof(*store->recipes));
	if (store->recipes && add_constant(store, PORTMAP_NONE, EMPTY) && add_constant(store, PORTMAP_MISFIT, MISFIT))
		return store;
	port_pages_free(store);
	return NULL;
}

void port_pages_free(struct port_pages *store)
{
	if (!store)
		return;
	free(store->recipes);
	free(store->page_slots);
	free(store);
}
