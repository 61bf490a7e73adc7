/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/holders.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 2

bool holders_create(struct holders *holders)
{
	*holders = (struct holders){
		.room = FIRST_ROOM,
		.counts = calloc(TABLE_ROWS, sizeof(*holders->counts)),
		.list = calloc((size_t)TABLE_ROWS * FIRST_ROOM, sizeof(*holders->list)),
	};
	if (holders->counts && holders->list)
		return true;
	holders_free(holders);
	return false;
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
	uint32_t low = 0, high = holders->proxy_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (netaddr_compare(&holders->proxies[holders->by_address[middle]], addr) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Makes room for one more proxy. The memory doubles at each power of 2. */
static bool grow_proxies(struct holders *holders)
{
	uint32_t count = holders->proxy_count;
	size_t room = count ? 2 * (size_t)count : 16;
	void *proxies, *numbers;

	if (count && (count < 16 || (count & (count - 1))))
		return true;
	proxies = realloc(holders->proxies, room * sizeof(*holders->proxies));
	if (proxies)
		holders->proxies = proxies;
	numbers = realloc(holders->by_address, room * sizeof(*holders->by_address));
	if (numbers)
		holders->by_address = numbers;
	return proxies && numbers;
}

bool holders_number(struct holders *holders, const struct netaddr *addr, uint32_t *proxy)
{
	uint32_t place = find_place(holders, addr), count = holders->proxy_count;

	if (place < count && netaddr_compare(&holders->proxies[holders->by_address[place]], addr) == 0) {
		*proxy = holders->by_address[place];
		return true;
	}
	if (!grow_proxies(holders))
		return false;
	memmove(holders->by_address + place + 1, holders->by_address + place,
		(count - place) * sizeof(*holders->by_address));
	holders->by_address[place] = count;
	holders->proxies[count] = *addr;
	holders->proxy_count++;
	*proxy = count;
	return true;
}

static bool double_room(struct holders *holders)
{
	uint32_t room = 2 * holders->room;
	struct holder *list = calloc((size_t)TABLE_ROWS * room, sizeof(*list));

	if (!list)
		return false;
	for (size_t row = 0; row < TABLE_ROWS; row++)
		memcpy(list + row * room, holders->list + row * holders->room, holders->counts[row] * sizeof(*list));
	free(holders->list);
	holders->list = list;
	holders->room = room;
	return true;
}

bool holders_add(struct holders *holders, uint32_t row, uint32_t proxy, double mass)
{
	struct holder *list = holders_of(holders, row);
	uint32_t count = holders->counts[row];

	for (uint32_t i = 0; i < count; i++) {
		if (list[i].proxy == proxy) {
			list[i].mass += mass;
			return true;
		}
	}
	if (count == holders->room && !double_room(holders))
		return false;
	holders_of(holders, row)[count] = (struct holder){.mass = mass, .proxy = proxy};
	holders->counts[row]++;
	return true;
}

/* Removes holder i of the row. Its place gets the last holder of the row, so a loop that removes counts down. */
static void holders_remove(struct holders *holders, uint32_t row, uint32_t i)
{
	struct holder *list = holders_of(holders, row);

	list[i] = list[--holders->counts[row]];
}

double holders_remove_proxy(struct holders *holders, uint32_t proxy)
{
	double mass = 0;

	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		for (uint32_t i = holders->counts[row]; i-- > 0;) {
			if (holders_of(holders, row)[i].proxy != proxy)
				continue;
			mass += holders_of(holders, row)[i].mass;
			holders_remove(holders, row, i);
		}
	}
	return mass;
}

bool holders_table_open(struct holders *holders, const struct table *table, struct holders_table *out)
{
	*out = (struct holders_table){
		.table = table,
		.proxies = calloc(table->backend_count + 1, sizeof(*out->proxies)),
	};
	for (uint32_t i = 0; out->proxies && i < table->backend_count; i++)
		if (!holders_number(holders, &table->backends[i].addr, &out->proxies[i]))
			return false;
	out->known = holders->proxy_count;
	out->listed = calloc(out->known + 1, sizeof(*out->listed));
	if (!out->proxies || !out->listed)
		return false;
	for (uint32_t i = 0; i < table->backend_count; i++)
		out->listed[out->proxies[i]] |= table->backends[i].state != TABLE_INACTIVE;
	return true;
}

void holders_table_close(struct holders_table *table)
{
	free(table->proxies);
	free(table->listed);
	*table = (struct holders_table){0};
}
