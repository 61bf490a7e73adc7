/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/past.h"
#include "common/byteorder.h"

#define KEEP_S (24 * 3600) /* as edit does without --keep */

/* Copies the previous states of the first table. */
static void copy_states(struct world *world, const struct table *first)
{
	struct table *table = &world->table;

	table->past = alloc_zeroed(TABLE_MAX_PAST, sizeof(*table->past));
	for (uint32_t i = 0; world->history && i < first->past_count; i++) {
		struct table_past *past = &table->past[table->past_count++];

		*past = first->past[i];
		past->time = 0; /* the simulation begins now */
		past->backends = alloc_zeroed(past->backend_count, sizeof(*past->backends));
		memcpy(past->backends, first->past[i].backends, past->backend_count * sizeof(*past->backends));
	}
}

static void drop_from(struct table *table, uint32_t count)
{
	while (table->past_count > count)
		free(table->past[--table->past_count].backends);
}

/*
 * If the state differs from the present one, adds it, and drops those that are too old or say nothing more, as `edit`
 * and glb-healthcheck do. Takes over before->backends.
 */
static void remember(struct world *world, struct table_past *before, int64_t now_ms)
{
	struct table *table = &world->table;
	const struct table_past *past[TABLE_MAX_PAST];
	enum table_past_fate fates[TABLE_MAX_PAST];
	struct table_past now, kept[TABLE_MAX_PAST];
	uint32_t count = 0;

	past_of_table(table, true, &now);
	if (!world->history)
		drop_from(table, 0);
	if (!world->history || table_past_is_same(before, &now)) {
		free(before->backends);
		free(now.backends);
		return;
	}
	before->time = now_ms / 1000;
	for (uint32_t i = 0; i < table->past_count; i++)
		past[i] = &table->past[i];
	table_past_choose(
		&(struct table_past_change){
			.table = table, .before = before, .now = &now, .time = before->time, .keep_s = KEEP_S},
		past, table->past_count, fates);
	if (before->backend_count)
		kept[count++] = *before;
	else
		free(before->backends);
	for (uint32_t i = 0; i < table->past_count; i++) {
		if (fates[i] == TABLE_PAST_KEPT)
			kept[count++] = table->past[i];
		else
			free(table->past[i].backends);
	}
	memcpy(table->past, kept, count * sizeof(*kept));
	table->past_count = count;
	free(now.backends);
}

void world_create(struct world *world, const struct table *first, bool history)
{
	struct table *table = &world->table;

	*world = (struct world){.history = history, .numbered = first->backend_count};
	table->backends = alloc_zeroed(TABLE_MAX_BACKENDS, sizeof(*table->backends));
	world->dead = alloc_zeroed(TABLE_MAX_BACKENDS, sizeof(*world->dead));
	world->addrs = alloc_zeroed(first->backend_count, sizeof(*world->addrs));
	memcpy(table->seed, first->seed, sizeof(table->seed));
	table->hops = first->hops;
	table->balance = first->balance;
	table->backend_count = first->backend_count;
	memcpy(table->backends, first->backends, first->backend_count * sizeof(*table->backends));
	for (uint32_t i = 0; i < first->backend_count; i++) {
		table->backends[i].weight = (uint16_t)table_backend_weight(&first->backends[i]);
		world->addrs[i] = first->backends[i].addr;
	}
	copy_states(world, first);
}

void world_free(struct world *world)
{
	drop_from(&world->table, 0);
	free(world->table.past);
	free(world->table.backends);
	free(world->dead);
	free(world->addrs);
	*world = (struct world){0};
}

bool world_addr(const struct world *world, uint32_t number, struct netaddr *addr)
{
	if (number <= world->numbered) {
		*addr = world->addrs[number - 1];
		return true;
	}
	/* Behind 198.18.0.0, or 2001:2:: if the table has IPv6 addresses (RFC 2544 and RFC 5180). */
	if (world->numbered && world->addrs[0].family == NETADDR_V6) {
		*addr = (struct netaddr){NETADDR_V6, {0x20, 0x01, 0x00, 0x02}};
		store_be32(addr->bytes + 12, number);
	} else {
		*addr = (struct netaddr){NETADDR_V4, {0}};
		store_be32(addr->bytes, 0xc6120000u + number);
	}
	for (uint32_t i = 0; i < world->numbered; i++)
		if (netaddr_compare(&world->addrs[i], addr) == 0)
			return false;
	return true;
}

/* Returns the index of the backend that has this address; or the number of backends. */
static uint32_t world_find(const struct world *world, const struct netaddr *addr)
{
	return table_find_backend(&world->table, NULL, addr);
}

static const char *add(struct world *world, const struct netaddr *addr, const struct script_step *step)
{
	uint32_t count = world->table.backend_count;

	if (world_find(world, addr) < count)
		return "is in the table already";
	if (!netaddr_is_host(addr))
		return "cannot be a proxy, because no other host can reach this address";
	if (addr->family != world->table.backends[0].addr.family)
		return "has another family than the proxies of the table";
	if (count == TABLE_MAX_BACKENDS)
		return "does not fit into the table, which has 4096 proxies";
	world->dead[count] = false;
	world->table.backends[count] = (struct table_backend){
		.addr = *addr,
		.state = step->draining ? TABLE_DRAINING : TABLE_ACTIVE,
		.healthy = true,
		.weight = (uint16_t)(step->number ? step->number : TABLE_DEFAULT_WEIGHT),
	};
	world->table.backend_count++;
	return NULL;
}

static void drop(struct world *world, uint32_t index)
{
	uint32_t after = --world->table.backend_count - index;
	struct table_backend *backend = &world->table.backends[index];

	memmove(backend, backend + 1, after * sizeof(*backend));
	memmove(world->dead + index, world->dead + index + 1, after * sizeof(*world->dead));
}

static void set(struct world *world, uint32_t index, const struct script_step *step)
{
	struct table_backend *backend = &world->table.backends[index];

	switch (step->verb) {
	case SCRIPT_REMOVE:
		drop(world, index);
		break;
	case SCRIPT_DRAIN:
		backend->state = TABLE_DRAINING;
		break;
	case SCRIPT_UNDRAIN:
		backend->state = TABLE_ACTIVE;
		break;
	case SCRIPT_WEIGHT:
		backend->weight = (uint16_t)step->number;
		break;
	case SCRIPT_FAIL:
		world->dead[index] = true;
		backend->healthy = false;
		break;
	case SCRIPT_UNHEALTHY:
		backend->healthy = false;
		break;
	case SCRIPT_RECOVER:
		world->dead[index] = false;
		backend->healthy = true;
		break;
	default:
		break;
	}
}

/* Returns NULL, or what is wrong with the proxy. */
static const char *select_proxy(const struct world *world, const struct netaddr *addr, bool *selected)
{
	uint32_t index = world_find(world, addr);

	if (index == world->table.backend_count)
		return "is not in the table";
	selected[index] = true;
	return NULL;
}

/* Adds or selects a proxy. `number` is 0 if the line names it by its address. */
static bool take_proxy(struct world *world, const struct script_step *step, uint32_t number, struct netaddr addr,
	bool *selected, struct faults *faults)
{
	const char *problem = "has an address that another proxy of the table has";
	char text[NETADDR_TEXT_MAX], name[16] = "";

	if (number == 0 || world_addr(world, number, &addr))
		problem = step->verb == SCRIPT_ADD ? add(world, &addr, step) : select_proxy(world, &addr, selected);
	if (!problem)
		return true;
	if (number)
		snprintf(name, sizeof(name), "%u, ", number);
	script_error(faults, step->line, "proxy %s%s: %s", name, netaddr_format(&addr, text), problem);
	return false;
}

static bool take_range(struct world *world, const struct script_step *step, const struct script_proxies *range,
	bool *selected, struct faults *faults)
{
	if (range->addr.family != NETADDR_NONE)
		return take_proxy(world, step, 0, range->addr, selected, faults);
	if (range->first == 0 && step->verb == SCRIPT_ADD) {
		script_error(faults, step->line, "add: `all` are the proxies that are in the table already");
		return false;
	}
	if (range->first == 0)
		memset(selected, true, world->table.backend_count * sizeof(*selected));
	for (uint32_t number = range->first; number && number <= range->last; number++)
		if (!take_proxy(world, step, number, range->addr, selected, faults))
			return false;
	return true;
}

bool world_select(struct world *world, const struct script_step *step, bool *selected, struct faults *faults)
{
	memset(selected, 0, TABLE_MAX_BACKENDS * sizeof(*selected));
	for (size_t i = 0; i < step->proxies_count; i++)
		if (!take_range(world, step, &step->proxies[i], selected, faults))
			return false;
	return true;
}

static bool has_rows(const struct world *world)
{
	for (uint32_t i = 0; i < world->table.backend_count; i++)
		if (world->table.backends[i].state != TABLE_INACTIVE)
			return true;
	return false;
}

static bool change(struct world *world, const struct script_step *step, struct faults *faults)
{
	static bool selected[TABLE_MAX_BACKENDS];

	if (!world_select(world, step, selected, faults))
		return false;
	for (uint32_t i = world->table.backend_count; i-- > 0;)
		if (selected[i])
			set(world, i, step);
	if (step->verb == SCRIPT_HOPS)
		world->table.hops = (uint8_t)step->number;
	if (step->verb == SCRIPT_BALANCE)
		world->table.balance = (uint16_t)step->number;
	if (step->verb == SCRIPT_HISTORY)
		world->history = step->on;
	if (has_rows(world))
		return true;
	script_error(faults, step->line, "%s: no proxy would be left: a table needs at least one that is not inactive",
		step->text);
	return false;
}

bool world_change(struct world *world, const struct script_step *step, int64_t now_ms, struct faults *faults)
{
	struct table_past before;
	bool changed;

	if (step->verb == SCRIPT_WAIT || step->verb == SCRIPT_WAIT_DRAINED)
		return change(world, step, faults);
	past_of_table(&world->table, true, &before);
	changed = change(world, step, faults);
	remember(world, &before, now_ms);
	return changed;
}
