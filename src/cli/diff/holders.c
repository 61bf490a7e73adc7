/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/holders.h"

#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "common/array.h"

#define FIRST_ROOM 2

void holders_create(struct holders *holders)
{
	*holders = (struct holders){
		.room = FIRST_ROOM,
		.counts = alloc_zeroed(TABLE_ROWS, sizeof(*holders->counts)),
		.list = alloc_zeroed((size_t)TABLE_ROWS * FIRST_ROOM, sizeof(*holders->list)),
	};
}

void holders_free(struct holders *holders)
{
	free(holders->proxies);
	free(holders->by_address);
	free(holders->counts);
	free(holders->list);
	*holders = (struct holders){0};
}

/* Returns the place of the address in by_address, or the place where it belongs. */
static uint32_t find_place(const struct holders *holders, const struct netaddr *addr)
{
	uint32_t low;

	ARRAY_BISECT(low, holders->proxy_count, netaddr_compare(&holders->proxies[holders->by_address[low]], addr) < 0);
	return low;
}

/* Makes room for one more proxy. The memory doubles at each power of 2. */
static void grow_proxies(struct holders *holders)
{
	uint32_t count = holders->proxy_count;
	size_t room = count ? 2 * (size_t)count : 16;

	if (count && (count < 16 || (count & (count - 1))))
		return;
	holders->proxies = alloc_grown(holders->proxies, room, sizeof(*holders->proxies));
	holders->by_address = alloc_grown(holders->by_address, room, sizeof(*holders->by_address));
}

uint32_t holders_number(struct holders *holders, const struct netaddr *addr)
{
	uint32_t place = find_place(holders, addr), count = holders->proxy_count;

	if (place < count && netaddr_compare(&holders->proxies[holders->by_address[place]], addr) == 0)
		return holders->by_address[place];
	grow_proxies(holders);
	memmove(holders->by_address + place + 1, holders->by_address + place,
		(count - place) * sizeof(*holders->by_address));
	holders->by_address[place] = count;
	holders->proxies[count] = *addr;
	return holders->proxy_count++;
}

static void double_room(struct holders *holders)
{
	uint32_t room = 2 * holders->room, *list = alloc_zeroed((size_t)TABLE_ROWS * room, sizeof(*list));

	for (size_t row = 0; row < TABLE_ROWS; row++)
		memcpy(list + row * room, holders->list + row * holders->room, holders->counts[row] * sizeof(*list));
	free(holders->list);
	holders->list = list;
	holders->room = room;
}

void holders_add(struct holders *holders, uint32_t row, uint32_t proxy)
{
	const uint32_t *list = holders_of(holders, row);
	uint32_t count = holders->counts[row];

	for (uint32_t i = 0; i < count; i++)
		if (list[i] == proxy)
			return;
	if (count == holders->room)
		double_room(holders);
	holders_of(holders, row)[count] = proxy;
	holders->counts[row]++;
}

void holders_remove_proxy(struct holders *holders, uint32_t proxy)
{
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		uint32_t *list = holders_of(holders, row);

		for (uint32_t i = 0; i < holders->counts[row]; i++)
			if (list[i] == proxy)
				list[i] = list[--holders->counts[row]];
	}
}

void holders_table_open(struct holders *holders, const struct table *table, struct holders_table *out)
{
	*out = (struct holders_table){
		.table = table,
		.proxies = alloc_zeroed(table->backend_count, sizeof(*out->proxies)),
	};
	for (uint32_t i = 0; i < table->backend_count; i++)
		out->proxies[i] = holders_number(holders, &table->backends[i].addr);
	out->known = holders->proxy_count;
	out->listed = alloc_zeroed(out->known, sizeof(*out->listed));
	for (uint32_t i = 0; i < table->backend_count; i++)
		out->listed[out->proxies[i]] |= table->backends[i].state != TABLE_INACTIVE;
}

void holders_table_close(struct holders_table *table)
{
	free(table->proxies);
	free(table->listed);
	*table = (struct holders_table){0};
}
