/* SPDX-License-Identifier: BSD-3-Clause */
/* Next hops: shares by weight, flows that stay where they are, backends without a next hop, and sets with one MAC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "packet/next_hops.h"
#include "tests/unit/handmade.h"
#include "tests/unit/table_helpers.h"
#include "tests/unit/vectors.h"

#define MAC(n) (0x020000000000 + (n))

static struct next_hops *create(const struct next_hop_list *lists, uint32_t count)
{
	struct next_hops *set = next_hops_create(lists, count);

	assert_non_null(set);
	return set;
}

static struct next_hops *create_one(const struct next_hop *next_hops, uint32_t count)
{
	/* The second backend keeps the set from collapsing into a single MAC. */
	static const struct next_hop other = {99, MAC(99), 1};

	return create((struct next_hop_list[]){{next_hops, count}, {&other, 1}}, 2);
}

/* Returns how many source ports of a period lead backend 0 to the MAC. */
static uint32_t share(const struct next_hops *set, uint64_t mac)
{
	uint32_t count = 0;

	for (uint32_t port = 0x8000; port < 0x8000 + NEXT_HOPS_WIDTH; port++)
		count += next_hops_find(set, 0, (uint16_t)port) == mac;
	return count;
}

static void test_weights_are_shares_of_the_source_ports(void **state)
{
	const struct next_hop equal[] = {{7, MAC(1), 1}, {8, MAC(2), 1}}, uneven[] = {{7, MAC(1), 1}, {8, MAC(2), 3}},
			      three[] = {{3, MAC(1), 5}, {5, MAC(2), 5}, {6, MAC(3), 5}},
			      huge[] = {{3, MAC(1), UINT32_MAX}, {5, MAC(2), UINT32_MAX}},
			      tiny[] = {{3, MAC(1), UINT32_MAX}, {5, MAC(2), 1}},
			      none[] = {{3, MAC(1), 0}, {5, MAC(2), 1}};
	static const struct {
		uint32_t count, shares[3];
	} expected[] = {
		{2, {128, 128}}, {2, {64, 192}}, {3, {86, 85, 85}}, {2, {128, 128}}, {2, {256, 0}}, {2, {0, 256}}};
	const struct next_hop *const given[] = {equal, uneven, three, huge, tiny, none};

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct next_hops *set = create_one(given[i], expected[i].count);

		for (uint32_t n = 0; n < expected[i].count; n++)
			assert_int_equal(share(set, MAC(n + 1)), expected[i].shares[n]);
		next_hops_free(set);
	}
}

static void test_all_source_ports_of_a_flow_path_have_a_slot(void **state)
{
	const struct next_hop two[] = {{7, MAC(1), 1}, {8, MAC(2), 1}};
	struct next_hops *set = create_one(two, 2);

	(void)state;
	for (uint32_t port = 0; port <= UINT16_MAX; port++) {
		uint64_t mac = next_hops_find(set, 0, (uint16_t)port);

		assert_true(mac == MAC(1) || mac == MAC(2));
		assert_int_equal(mac, next_hops_find(set, 0, (uint16_t)(port % NEXT_HOPS_WIDTH)));
		assert_int_equal(next_hops_find(set, 1, (uint16_t)port), MAC(99));
	}
	next_hops_free(set);
}

static uint64_t mac_of(const json_t *text)
{
	uint64_t mac = 0;

	if (json_is_string(text))
		vectors_mac(json_string_value(text), (uint8_t *)&mac);
	return mac;
}

static void test_every_golden_vector(void **state)
{
	json_t *cases = vectors_load("next_hops.json"), *one, *json;
	size_t i, n;

	(void)state;
	assert_true(json_array_size(cases) > 20);
	json_array_foreach(cases, i, one)
	{
		struct next_hop next_hops[256];
		struct next_hops *set;

		json_array_foreach(vectors_get(one, "next_hops"), n, json) next_hops[n] =
			(struct next_hop){strtoull(vectors_string(json, "id"), NULL, 16),
				mac_of(vectors_get(json, "mac")), vectors_number(json, "weight")};
		set = create_one(next_hops, (uint32_t)json_array_size(vectors_get(one, "next_hops")));
		json_array_foreach(vectors_get(one, "slots"), n, json)
		{
			uint64_t mac = json_is_null(json) ? 0 : next_hops[json_integer_value(json)].mac;

			if (next_hops_find(set, 0, (uint16_t)(0x8000 + n)) != mac)
				fail_msg("%s: slot %zu", vectors_string(one, "name"), n);
		}
		assert_int_equal(n, NEXT_HOPS_WIDTH);
		next_hops_free(set);
	}
	json_decref(cases);
}

/* Counts the slots of backend 0 that differ although `gone` had them in neither set. */
static uint32_t moved(const struct next_hops *before, const struct next_hops *after, uint64_t gone)
{
	uint32_t count = 0;

	for (uint16_t port = 0; port < NEXT_HOPS_WIDTH; port++) {
		uint64_t from = next_hops_find(before, 0, port), to = next_hops_find(after, 0, port);

		count += from != to && from != gone && to != gone;
	}
	return count;
}

static void test_failure_moves_only_flows_of_the_next_hop_that_fails(void **state)
{
	(void)state;
	for (uint32_t count = 2; count <= 40; count++) {
		struct next_hop next_hops[40];
		struct next_hops *before, *after, *back;
		uint32_t gone = random_below(count);

		for (uint32_t n = 0; n < count; n++)
			next_hops[n] = (struct next_hop){random_u64(), MAC(n + 1), 1 + random_below(4)};
		before = create_one(next_hops, count);
		next_hops[gone].mac = 0;
		after = create_one(next_hops, count);
		assert_int_equal(moved(before, after, MAC(gone + 1)), 0);
		assert_int_equal(share(after, MAC(gone + 1)), 0);
		assert_int_equal(share(after, 0), 0);
		next_hops[gone].mac = MAC(gone + 1);
		back = create_one(next_hops, count);
		for (uint16_t port = 0; port < NEXT_HOPS_WIDTH; port++)
			assert_int_equal(next_hops_find(before, 0, port), next_hops_find(back, 0, port));
		next_hops_free(before);
		next_hops_free(after);
		next_hops_free(back);
	}
}

/* The kernel forgets a next hop: its weight goes to the others, so few of their flows change places. */
static void test_removed_next_hop_moves_few_other_flows(void **state)
{
	uint32_t sum = 0, rounds = 0;

	(void)state;
	for (uint32_t count = 3; count <= 16; count++, rounds++) {
		struct next_hop next_hops[16];
		struct next_hops *before, *after;

		for (uint32_t n = 0; n < count; n++)
			next_hops[n] = (struct next_hop){n * 1000 + count, MAC(n + 1), 1};
		before = create_one(next_hops, count);
		after = create_one(next_hops, count - 1);
		sum += moved(before, after, MAC(count));
		next_hops_free(before);
		next_hops_free(after);
	}
	assert_in_range(sum, 0, rounds * NEXT_HOPS_WIDTH / 8);
}

static void test_order_of_the_list_does_not_matter(void **state)
{
	const struct next_hop forward[] = {{7, MAC(1), 1}, {8, MAC(2), 2}, {9, 0, 2}},
			      backward[] = {{9, 0, 2}, {8, MAC(2), 2}, {7, MAC(1), 1}};
	struct next_hops *a = create_one(forward, 3), *b = create_one(backward, 3);

	(void)state;
	for (uint16_t port = 0; port < NEXT_HOPS_WIDTH; port++)
		assert_int_equal(next_hops_find(a, 0, port), next_hops_find(b, 0, port));
	next_hops_free(a);
	next_hops_free(b);
}

static void test_backend_without_reachable_next_hop_has_none(void **state)
{
	const struct next_hop dead[] = {{7, 0, 1}, {8, 0, 3}};
	struct next_hops *set = create_one(dead, 2);

	(void)state;
	assert_false(set->single);
	assert_int_equal(share(set, 0), NEXT_HOPS_WIDTH);
	assert_int_equal(next_hops_find(set, 1, 0x8000), MAC(99));
	next_hops_free(set);
}

static void test_one_mac_for_all_makes_a_single_set(void **state)
{
	const struct next_hop a = {7, MAC(1), 1}, b = {8, MAC(1), 2}, dead = {9, 0, 1}, other = {10, MAC(2), 1},
			      both[] = {a, b, dead};
	const struct {
		struct next_hop_list lists[3];
		bool single;
		uint64_t mac;
	} cases[] = {
		{{{&a, 1}, {&b, 1}, {both, 3}}, true, MAC(1)},
		{{{&a, 1}, {NULL, 0}, {&a, 1}}, true, MAC(1)}, /* no packet has the second backend as first hop */
		{{{&a, 1}, {&dead, 1}, {&a, 1}}, false, 0},
		{{{&a, 1}, {&other, 1}, {&a, 1}}, false, 0},
		{{{&dead, 1}, {&dead, 1}, {&dead, 1}}, true, 0},
		{{{NULL, 0}, {NULL, 0}, {NULL, 0}}, true, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct next_hops *set = create(cases[i].lists, 3);

		assert_int_equal(set->single, cases[i].single);
		if (cases[i].single)
			assert_int_equal(set->mac, cases[i].mac);
		assert_int_equal(next_hops_any(set), !cases[i].single || cases[i].mac);
		next_hops_free(set);
	}
}

static void test_no_backends_have_no_next_hop(void **state)
{
	struct next_hops *set = create(NULL, 0);

	(void)state;
	assert_true(set->single);
	assert_false(next_hops_any(set));
	next_hops_free(set);
}

/* With as many backends as a large set of tables has. Equal lists share their slots, however many there are. */
static void test_backends_with_equal_lists_share_slots(void **state)
{
	enum { COUNT = 100000 };
	struct next_hop two[2][2] = {{{7, MAC(1), 1}, {8, MAC(2), 1}}, {{7, MAC(3), 1}, {8, MAC(4), 1}}}, copies[3][2];
	struct next_hop_list *lists = calloc(COUNT, sizeof(*lists));
	struct next_hops *set;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		memcpy(copies[i], two[i % 2], sizeof(copies[i]));
	for (uint32_t i = 0; i < COUNT; i++)
		lists[i] = (struct next_hop_list){copies[i % 3], 2};
	set = create(lists, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(set->slots[i], set->slots[i % 3 % 2]);
	assert_int_not_equal(set->slots[0], set->slots[1]);
	next_hops_free(set);
	free(lists);
}

static void test_first_hops_of_rows_are_marked(void **state)
{
	struct table_set set = {0};
	struct routes *routes;
	bool *first;

	(void)state;
	handmade_table(&set, 3, 2);
	handmade_table(&set, 300, 2);
	for (size_t row = 0; row < TABLE_ROWS; row++) { /* backend 2 of table 0 is never first */
		set.tables[0].rows[2 * row] = row % 2;
		set.tables[0].rows[2 * row + 1] = 2;
	}
	routes = handmade_routes(&set);
	first = calloc(routes->address_count, sizeof(*first));
	routes_mark_first_hops(routes, first);
	assert_true(first[routes_backend(routes, 0, 0)] && first[routes_backend(routes, 0, 1)]);
	assert_false(first[routes_backend(routes, 0, 2)]);
	for (size_t row = 0; row < TABLE_ROWS; row++)
		assert_true(first[routes_backend(routes, 1, routes->tables[1].rows[2 * row])]);
	free(first);
	routes_free(routes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_golden_vector),
		cmocka_unit_test(test_weights_are_shares_of_the_source_ports),
		cmocka_unit_test(test_all_source_ports_of_a_flow_path_have_a_slot),
		cmocka_unit_test(test_failure_moves_only_flows_of_the_next_hop_that_fails),
		cmocka_unit_test(test_removed_next_hop_moves_few_other_flows),
		cmocka_unit_test(test_order_of_the_list_does_not_matter),
		cmocka_unit_test(test_backend_without_reachable_next_hop_has_none),
		cmocka_unit_test(test_one_mac_for_all_makes_a_single_set),
		cmocka_unit_test(test_no_backends_have_no_next_hop),
		cmocka_unit_test(test_backends_with_equal_lists_share_slots),
		cmocka_unit_test(test_first_hops_of_rows_are_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
