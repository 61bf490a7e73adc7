/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/classifier/port_pages.h"

#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"

enum {
	PORTS = PORTMAP_PAGE_PORTS,
	PAGES = 65536 / PORTS, /* pages of a map */
	EMPTY = 0, /* the map and the page that have only PORTMAP_NONE */
	MISFIT = 1, /* the map and the page that have only PORTMAP_MISFIT */
	NO_SLOT = UINT32_MAX,
	TAIL = 3, /* bytes behind each array */
};

/* The input for a port map. Equal recipes make equal maps. */
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
	uint16_t uniform[256]; /* the page that has only this entry; EMPTY: there is none yet */
	bool any_misfit;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint8_t *page_at(const struct port_pages *made, uint32_t page)
{
	return made->portmap->pages + (size_t)page * PORTS;
}

static uint32_t hash_page(const uint8_t entries[PORTS])
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < PORTS; i += 8)
		hash = mix(hash, load_le64(entries + i));
	return (uint32_t)(hash >> 16);
}

/* The slot of the page with these entries, or the free slot for it. */
static uint32_t *find_page(const struct port_pages *made, const uint8_t entries[PORTS])
{
	uint32_t slot = hash_page(entries) & made->page_mask;

	while (made->page_slots[slot] != NO_SLOT && memcmp(page_at(made, made->page_slots[slot]), entries, PORTS) != 0)
		slot = (slot + 1) & made->page_mask;
	return &made->page_slots[slot];
}

/* Doubles the room for pages, and the hash table. */
static bool grow_pages(struct port_pages *made)
{
	uint32_t room = made->page_room ? 2 * made->page_room : 16;
	uint8_t *pages = realloc(made->portmap->pages, (size_t)room * PORTS + TAIL);
	uint32_t *slots;

	if (!pages)
		return false;
	made->portmap->pages = pages;
	slots = realloc(made->page_slots, 2ul * room * sizeof(*slots));
	if (!slots)
		return false;
	memset(slots, 0xff, 2ul * room * sizeof(*slots));
	made->page_slots = slots;
	made->page_mask = 2 * room - 1;
	made->page_room = room;
	for (uint32_t page = 0; page < made->portmap->page_count; page++)
		*find_page(made, page_at(made, page)) = page;
	return true;
}

/* Finds or adds a page. Without room it is MISFIT. */
static bool add_page(struct port_pages *made, const uint8_t entries[PORTS], uint16_t *page)
{
	struct portmap *portmap = made->portmap;
	uint32_t *slot;

	if (portmap->page_count == made->page_room && made->page_room < made->limits.pages && !grow_pages(made))
		return false;
	slot = find_page(made, entries);
	*page = MISFIT;
	if (*slot != NO_SLOT) {
		*page = (uint16_t)*slot;
	} else if (portmap->page_count < made->limits.pages) {
		memcpy(page_at(made, portmap->page_count), entries, PORTS);
		*page = (uint16_t)(*slot = portmap->page_count++);
	} else {
		made->any_misfit = true;
	}
	return true;
}

/* Finds or adds the page that has only `entry`. */
static bool add_uniform(struct port_pages *made, uint8_t entry, uint16_t *page)
{
	uint8_t entries[PORTS];

	*page = made->uniform[entry];
	if (*page != EMPTY || entry == PORTMAP_NONE)
		return true;
	memset(entries, entry, sizeof(entries));
	if (!add_page(made, entries, page))
		return false;
	made->uniform[entry] = *page;
	return true;
}

/* The entry of a port that a prefix inherits as `entry`, and for which the prefix itself has a bind. */
static uint8_t lower(uint8_t entry, uint8_t own)
{
	return entry == PORTMAP_NONE || (own < entry && entry != PORTMAP_MISFIT) ? own : entry;
}

/* Writes the part of the ranges that is in page `number` of a map. Returns the ranges that end before the next page. */
static uint32_t write_page(uint8_t entries[PORTS], uint32_t number, const struct classify_range *ranges, uint32_t count)
{
	uint32_t first = number * PORTS, last = first + PORTS - 1, i = 0;

	for (; i < count && ranges[i].start <= last; i++) {
		uint32_t from = ranges[i].start > first ? ranges[i].start : first;
		uint32_t to = ranges[i].end < last ? ranges[i].end : last;

		for (uint32_t port = from; port <= to; port++)
			entries[port - first] = lower(entries[port - first], (uint8_t)(ranges[i].table + 1));
		if (ranges[i].end > last)
			break;
	}
	return i;
}

/* Fills the pages of a map that the ranges are in. *pages has the parent's. */
static bool fill_pages(struct port_pages *made, uint16_t pages[PAGES], const struct classify_range *ranges, uint32_t count)
{
	uint32_t at = 0, number = 0;

	while (at < count) {
		uint8_t entries[PORTS];
		bool done;

		if (number < ranges[at].start / (uint32_t)PORTS)
			number = ranges[at].start / (uint32_t)PORTS;
		memcpy(entries, page_at(made, pages[number]), PORTS);
		if (ranges[at].start <= number * PORTS && ranges[at].end >= number * PORTS + PORTS - 1 &&
			made->uniform[entries[0]] == pages[number]) {
			done = add_uniform(made, lower(entries[0], (uint8_t)(ranges[at].table + 1)), &pages[number]);
			at += ranges[at].end == number * PORTS + PORTS - 1;
		} else {
			at += write_page(entries, number, ranges + at, count - at);
			done = add_page(made, entries, &pages[number]);
		}
		if (!done)
			return false;
		number++;
	}
	return true;
}

/* Adds a map with these pages. */
static bool add_map(struct port_pages *made, const uint16_t pages[PAGES], uint16_t *map)
{
	struct portmap *portmap = made->portmap;

	if (portmap->map_count == made->map_room) {
		uint32_t room = made->map_room ? 2 * made->map_room : 8;
		uint16_t *maps = realloc(portmap->maps, (size_t)room * PAGES * sizeof(*maps) + TAIL);

		if (!maps)
			return false;
		portmap->maps = maps;
		made->map_room = room;
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
			a->ranges[i].table != b->ranges[i].table)
			return false;
	return true;
}

/* The slot of an equal recipe, or the free slot for it. */
static struct recipe *find_recipe(const struct port_pages *made, const struct recipe *recipe)
{
	uint64_t hash = recipe->parent;
	uint32_t slot;

	for (uint32_t i = 0; i < recipe->count; i++) {
		const struct classify_range *range = &recipe->ranges[i];

		hash = mix(hash, range->start ^ (uint64_t)range->end << 16 ^ (uint64_t)range->table << 32);
	}
	slot = (uint32_t)(hash >> 16) & made->recipe_mask;
	while (made->recipes[slot].count && !same_recipe(&made->recipes[slot], recipe))
		slot = (slot + 1) & made->recipe_mask;
	return &made->recipes[slot];
}

bool port_pages_map(
	struct port_pages *made, uint16_t parent, const struct classify_range *ranges, uint32_t count, uint16_t *map)
{
	struct recipe recipe = {.ranges = ranges, .count = count, .parent = parent}, *slot;
	uint16_t pages[PAGES];

	*map = parent;
	if (count == 0 || parent == MISFIT)
		return true;
	slot = find_recipe(made, &recipe);
	if (!slot->count && made->portmap->map_count == made->limits.maps) {
		made->any_misfit = true;
		*map = MISFIT;
		return true;
	}
	if (!slot->count) {
		memcpy(pages, made->portmap->maps + (size_t)parent * PAGES, sizeof(pages));
		if (!fill_pages(made, pages, ranges, count) || !add_map(made, pages, &recipe.map))
			return false;
		*slot = recipe;
	}
	*map = slot->map;
	return true;
}

bool port_pages_misfit(const struct port_pages *made, uint16_t map)
{
	bool misfit = false;

	for (uint32_t i = 0; made->any_misfit && i < PAGES; i++)
		misfit |= made->portmap->maps[(size_t)map * PAGES + i] == MISFIT;
	return misfit;
}

size_t port_pages_memory(const struct port_pages *made)
{
	return (size_t)made->map_room * PAGES * sizeof(*made->portmap->maps) + (size_t)made->page_room * PORTS;
}

/* Adds the map and the page that have only `entry`. */
static bool add_constant(struct port_pages *made, uint8_t entry, uint16_t expected)
{
	uint8_t entries[PORTS];
	uint16_t pages[PAGES], page, map;

	memset(entries, entry, sizeof(entries));
	if (!add_page(made, entries, &page))
		return false;
	for (unsigned i = 0; i < PAGES; i++)
		pages[i] = page;
	made->uniform[entry] = page;
	return add_map(made, pages, &map) && page == expected && map == expected;
}

struct port_pages *port_pages_create(struct portmap *portmap, const struct portmap_limits *limits, uint32_t prefixes)
{
	struct port_pages *made = calloc(1, sizeof(*made));
	uint32_t slots = 16;

	if (!made)
		return NULL;
	while (slots < 4 * prefixes) /* a recipe for each protocol, twice as many slots */
		slots *= 2;
	made->portmap = portmap;
	made->limits = *limits;
	made->recipe_mask = slots - 1;
	made->recipes = calloc(slots, sizeof(*made->recipes));
	if (made->recipes && add_constant(made, PORTMAP_NONE, EMPTY) && add_constant(made, PORTMAP_MISFIT, MISFIT))
		return made;
	port_pages_free(made);
	return NULL;
}

void port_pages_free(struct port_pages *made)
{
	if (!made)
		return;
	free(made->recipes);
	free(made->page_slots);
	free(made);
}
