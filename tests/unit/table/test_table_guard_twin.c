/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the guard with a naive twin on random tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/table_guard.h"
#include "tests/unit/table_helpers.h"

/*
 * The naive twin enumerates packets. Its world has 16 addresses of each family, at the end of the family's space, 4 ports and 2
 * protocols.
 */
#define ADDRESSES 32
#define PORTS     4

static struct netaddr world_addr(uint32_t number)
{
	uint8_t bytes[16];

	memset(bytes, 0xff, sizeof(bytes));
	bytes[number < 16 ? 3 : 15] = (uint8_t)(0xf0 | number % 16);
	return netaddr_from_bytes(number < 16 ? NETADDR_V4 : NETADDR_V6, bytes);
}

static bool matches(const struct table_bind *bind, uint32_t addr, uint32_t port, uint8_t protocol)
{
	struct netaddr address = world_addr(addr);

	return netprefix_covers(&bind->prefix, &address) && bind->port_start <= port && port <= bind->port_end &&
	       bind->protocol == protocol;
}

/* Counts the packets of `bind` that a bind of the set matches; *all is the number of packets of `bind`. With any_port, counts
 * addresses. */
static uint32_t count_matched(const struct table_set *set, const struct table_bind *bind, bool any_port, uint32_t *all)
{
	uint32_t matched = 0;

	*all = 0;
	for (uint32_t addr = 0; addr < ADDRESSES; addr++) {
		for (uint32_t packet = 0; packet < 2 * PORTS; packet++) {
			uint8_t protocol = packet < PORTS ? TABLE_TCP : TABLE_UDP;
			bool found = false;

			if (!matches(bind, addr, packet % PORTS, protocol))
				continue;
			++*all;
			for (uint32_t t = 0; t < set->count; t++)
				for (uint32_t i = 0; i < set->tables[t].bind_count; i++)
					for (uint32_t other = 0; other < 2 * PORTS; other++)
						found |= (any_port || other == packet) &&
							 matches(&set->tables[t].binds[i], addr, other % PORTS,
								 other < PORTS ? TABLE_TCP : TABLE_UDP);
			matched += found;
		}
	}
	return matched;
}

static bool same_bind(const struct table_bind *a, const struct table_bind *b)
{
	return netaddr_compare(&a->prefix.addr, &b->prefix.addr) == 0 && a->prefix.length == b->prefix.length &&
	       a->protocol == b->protocol && a->port_start == b->port_start && a->port_end == b->port_end;
}

static bool takes(const struct table_set *new, uint32_t heir, const struct table *old)
{
	uint32_t all;

	for (uint32_t i = 0; i < old->bind_count; i++) {
		struct table_set only = {.count = 1, .tables = &new->tables[heir]};
		bool anywhere = false, here = false;

		for (uint32_t t = 0; t < new->count; t++)
			for (uint32_t j = 0; j < new->tables[t].bind_count; j++)
				if (same_bind(&old->binds[i], &new->tables[t].binds[j])) {
					anywhere = true;
					here |= t == heir;
				}
		if (anywhere ? here : count_matched(&only, &old->binds[i], false, &all) > 0)
			return true;
	}
	return false;
}

static int naive_namesake(const struct table_set *old, uint32_t index, const struct table_set *new)
{
	const char *name = old->tables[index].name;
	int in_old = 0, in_new = 0, found = -1;

	for (uint32_t t = 0; name && t < old->count; t++)
		in_old += old->tables[t].name && strcmp(old->tables[t].name, name) == 0;
	for (uint32_t t = 0; name && t < new->count; t++)
		if (new->tables[t].name && strcmp(new->tables[t].name, name) == 0) {
			in_new++;
			found = (int)t;
		}
	return in_old == 1 && in_new == 1 ? found : -1;
}

typedef bool heirs_matrix[8][8];

static void naive_heirs(const struct table_set *old, const struct table_set *new, heirs_matrix heirs)
{
	bool found[8] = {false}, taken[8] = {false};

	for (uint32_t t = 0; t < old->count; t++) {
		int namesake = naive_namesake(old, t, new);

		for (uint32_t n = 0; n < new->count; n++) {
			if (namesake >= 0 && (new->tables[namesake].bind_count || !old->tables[t].bind_count))
				heirs[t][n] = (int)n == namesake;
			else
				heirs[t][n] = takes(new, n, &old->tables[t]);
			found[t] |= heirs[t][n];
			taken[n] |= heirs[t][n];
		}
	}
	for (uint32_t t = 0; t < old->count; t++)
		if (!found[t] && t < new->count && !taken[t] && naive_namesake(old, t, new) < 0)
			heirs[t][t] = true;
}

struct expected {
	uint32_t count;
	struct {
		bool warning;
		char text[100]; /* up to the colon */
	} faults[64];
};

static void expect(struct expected *expected, bool warning, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void expect(struct expected *expected, bool warning, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	expected->faults[expected->count].warning = warning;
	vsnprintf(expected->faults[expected->count++].text, sizeof(expected->faults[0].text), format, args);
	va_end(args);
}

static void expect_bind_losses(
	struct expected *expected, const struct table_set *new, const struct table *table, const char *label, bool busy)
{
	uint32_t vips = 0, ports = 0, all;

	for (uint32_t i = 0; i < table->bind_count; i++) {
		bool seen = false;

		if (count_matched(new, &table->binds[i], true, &all) == all) {
			ports += count_matched(new, &table->binds[i], false, &all) < all;
			continue;
		}
		for (uint32_t j = 0; j < i; j++)
			seen |= netaddr_compare(&table->binds[j].prefix.addr, &table->binds[i].prefix.addr) == 0 &&
				table->binds[j].prefix.length == table->binds[i].prefix.length;
		vips += !seen;
	}
	if (vips)
		expect(expected, !busy, "table %s loses %u VIP%s%s:", label, vips, vips == 1 ? "" : "s",
			busy ? ", and it has traffic" : "");
	if (ports)
		expect(expected, true, "table %s loses ports or protocols of %u bind%s:", label, ports,
			ports == 1 ? "" : "s");
}

static void expect_backend_losses(struct expected *expected, const struct table_set *new, const bool *heirs,
	const struct table *table, const char *label, unsigned max_shrink)
{
	uint32_t usable = 0, lost = 0;
	bool any = false;

	for (uint32_t i = 0; i < table->backend_count; i++) {
		bool kept = false;

		for (uint32_t n = 0; n < new->count; n++)
			for (uint32_t j = 0; j < new->tables[n].backend_count; j++)
				kept |= heirs[n] &&
					new->tables[n].backends[j].state !=
						TABLE_INACTIVE &&netaddr_compare(&new->tables[n].backends[j].addr,
							&table->backends[i].addr) == 0;
		usable += table->backends[i].state != TABLE_INACTIVE;
		lost += table->backends[i].state != TABLE_INACTIVE && !kept;
	}
	for (uint32_t n = 0; n < new->count; n++)
		any |= heirs[n];
	if (any && max_shrink < 100 && lost * 100 > usable * max_shrink)
		expect(expected, false, "table %s loses %u of its %u usable backends, and max_shrink is %u %%:", label,
			lost, usable, max_shrink);
}

static struct expected naive_guard(const struct table_guard *guard)
{
	const struct table_set *old = guard->old, *new = guard->new;
	struct expected expected = {0};
	heirs_matrix heirs = {{false}};
	bool any = false, errors = false;

	naive_heirs(old, new, heirs);
	if (old->count && !new->count)
		expect(&expected, false, "all tables vanish:");
	for (uint32_t t = 0; new->count &&t < old->count; t++) {
		const struct table *table = &old->tables[t];
		bool has_heir = false, has_binds = false;
		char buf[16];
		const char *label = table_label(old, t, buf);

		for (uint32_t n = 0; n < new->count; n++) {
			has_heir |= heirs[t][n];
			has_binds |= heirs[t][n] && new->tables[n].bind_count;
		}
		if (table->bind_count && !has_binds) {
			expect(&expected, false, "table %s %s:", label,
				has_heir || naive_namesake(old, t, new) >= 0 ? "loses all its binds"
									     : "vanishes with all its binds");
			continue;
		}
		expect_bind_losses(&expected, new, table, label, guard->busy[t]);
		expect_backend_losses(&expected, new, heirs[t], table, label, guard->max_shrink);
	}
	for (uint32_t n = 0; n < new->count; n++)
		any |= new->tables[n].bind_count > 0;
	for (uint32_t i = 0; i < expected.count; i++)
		errors |= !expected.faults[i].warning;
	if (!errors && !any)
		expect(&expected, true, "has no %s: the director forwards nothing", new->count ? "binds" : "tables");
	return expected;
}

static void random_world_table(struct table *table)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	enum netaddr_family family = random_below(4) ? NETADDR_V4 : NETADDR_V6;

	*table = (struct table){.name = random_below(3) ? strdup(names[random_below(4)]) : NULL, .hops = 2};
	table->bind_count = random_below(4);
	table->binds = calloc(table->bind_count + 1, sizeof(*table->binds));
	table->backend_count = 1 + random_below(5);
	table->backends = calloc(table->backend_count, sizeof(*table->backends));
	for (uint32_t i = 0; i < table->bind_count; i++) {
		struct table_bind *bind = &table->binds[i];

		bind->prefix.addr = world_addr(random_below(ADDRESSES));
		bind->prefix.length = (uint8_t)(netaddr_bits(&bind->prefix.addr) - random_below(5));
		netprefix_mask(bind->prefix.addr.bytes, netaddr_size(&bind->prefix.addr), bind->prefix.length);
		bind->protocol = random_below(3) ? TABLE_TCP : TABLE_UDP;
		bind->port_start = (uint16_t)random_below(PORTS);
		bind->port_end = (uint16_t)(bind->port_start + random_below(PORTS - bind->port_start));
	}
	for (uint32_t i = 0; i < table->backend_count; i++) {
		uint8_t bytes[16] = {192, 168, 0, (uint8_t)(10 * i + random_below(2))};

		table->backends[i].addr = netaddr_from_bytes(family, bytes);
		table->backends[i].state = (uint8_t)random_below(4);
	}
}

static struct table copy_table(const struct table *from)
{
	struct table table = *from;

	table.name = from->name ? strdup(from->name) : NULL;
	table.binds = calloc(from->bind_count + 1, sizeof(*table.binds));
	memcpy(table.binds, from->binds, from->bind_count * sizeof(*table.binds));
	table.backends = calloc(from->backend_count + 1, sizeof(*table.backends));
	memcpy(table.backends, from->backends, from->backend_count * sizeof(*table.backends));
	return table;
}

/* Copies some tables of the old set, a few of them changed, and adds others. */
static struct table_set random_successor(const struct table_set *old)
{
	struct table_set set = random_set(old->count + 2);

	set.count = 0;
	for (uint32_t t = 0; t < old->count; t++) {
		struct table *table = &set.tables[set.count];

		if (random_below(5) == 0)
			continue;
		*table = copy_table(&old->tables[t]);
		set.count++;
		if (random_below(4) == 0 && table->bind_count)
			table->bind_count--;
		if (random_below(4) == 0)
			table->backend_count = 1 + random_below(table->backend_count);
		if (random_below(6) == 0) {
			free(table->name);
			table->name = NULL;
		}
	}
	for (uint32_t more = random_below(3); more > 0; more--)
		random_world_table(&set.tables[set.count++]);
	return set;
}

static void test_the_guard_equals_a_naive_one(void **state)
{
	static const unsigned shrinks[] = {0, 34, 50, 99, 100};
	uint32_t allowed = 0, found = 0;

	(void)state;
	for (uint32_t round = 0; round < CASES(3000); round++) {
		struct table_set old = random_set(random_below(5));
		struct table_set new;
		struct faults faults = {0};
		bool busy[8], expected_allowed = true;
		struct table_guard guard = {
			.old = &old, .new = &new, .busy = busy, .max_shrink = shrinks[random_below(5)]};
		struct expected expected;

		for (uint32_t t = 0; t < 8; t++)
			busy[t] = random_below(2);
		for (uint32_t t = 0; t < old.count; t++)
			random_world_table(&old.tables[t]);
		new = random_successor(&old);
		expected = naive_guard(&guard);
		for (uint32_t i = 0; i < expected.count; i++)
			expected_allowed &= expected.faults[i].warning;
		assert_int_equal(table_guard_allows(&guard, &faults), expected_allowed);
		for (uint32_t i = 0; i < expected.count && i < faults.count; i++) {
			char text[100];

			snprintf(text, sizeof(text), "%.*s", (int)strlen(expected.faults[i].text), faults.items[i].text);
			assert_string_equal(text, expected.faults[i].text);
			assert_int_equal(faults.items[i].warning, expected.faults[i].warning);
		}
		assert_int_equal(faults.count, expected.count);
		allowed += expected_allowed;
		found += expected.count;
		faults_clear(&faults);
		table_set_free(&old);
		table_set_free(&new);
	}
	assert_in_range(allowed, CASES(500), CASES(2500));
	assert_in_range(found, CASES(1000), UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_guard_equals_a_naive_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
