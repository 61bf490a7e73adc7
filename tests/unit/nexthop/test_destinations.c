/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/neighbour.h>

#include "director/nexthop/destinations.h"
#include "tests/unit/handmade.h"

#define MAC   UINT64_C(0x010000000002)
#define OTHER UINT64_C(0x020000000002)

static struct neighbour routers[2] = {
	{.id = 1, .known_mac = MAC, .state = NUD_REACHABLE}, {.id = 2, .known_mac = OTHER, .state = NUD_REACHABLE}};

/* The backends of all tables have addresses of this family. NETADDR_NONE: IPv4 in even tables, IPv6 in odd ones. */
static enum netaddr_family family;

static struct netaddr address_of(uint32_t table, uint32_t backend)
{
	bool v4 = family == NETADDR_NONE ? table % 2 == 0 : family == NETADDR_V4;
	/* Addresses of both families begin with the same bytes. */
	uint32_t words[4] = {handmade_address(v4 ? table : 0, backend), 0, 0, htonl(table + 1)};

	return netaddr_from_bytes(v4 ? NETADDR_V4 : NETADDR_V6, words);
}

static struct routes *routes_of(struct table_set *set)
{
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t i = 0; i < set->tables[t].backend_count; i++)
			set->tables[t].backends[i].addr = address_of(t, i);
	return handmade_routes(set);
}

static struct routes *make_routes(uint32_t backends)
{
	struct table_set set = {0};

	handmade_table(&set, backends, 2);
	return routes_of(&set);
}

static struct path *find_path(const struct destinations *destinations, uint32_t table, uint32_t backend, uint32_t port)
{
	struct netaddr address = address_of(table, backend);

	return destinations_path(destinations, &address, port);
}

static struct path *path_of(const struct destinations *destinations, uint32_t backend, uint32_t port)
{
	struct path *path = find_path(destinations, 0, backend, port);

	assert_non_null(path);
	return path;
}

static bool set_path(struct path *path, struct neighbour *neighbour)
{
	struct hop_link *links = calloc(1, sizeof(*links));

	*links = (struct hop_link){neighbour, 1};
	return path_replace(path, links, neighbour ? 1 : 0, neighbour ? NULL : "no route");
}

static void test_destinations_are_the_backends_that_are_first_in_a_row(void **state)
{
	struct destinations destinations = {.ports = 2};
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	handmade_table(&set, 5, 2);
	for (uint32_t at = 0; at < 2 * TABLE_ROWS; at += 2) { /* backend 3 is only a second hop, and backend 4 is no hop */
		set.tables[0].rows[at] = at / 2 % 3;
		set.tables[0].rows[at + 1] = 3;
	}
	handmade_table(&set, 2, 2);
	routes = routes_of(&set);
	assert_true(destinations_follow(&destinations, routes, false));
	assert_int_equal(destinations.count, 5);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(path_of(&destinations, i, 1)->done);
	assert_null(find_path(&destinations, 0, 3, 0));
	assert_null(find_path(&destinations, 0, 4, 0));
	assert_non_null(find_path(&destinations, 1, 1, 1));
	destinations_free(&destinations);
	routes_free(routes);
}

/* Between two calls for a reload the backends of both tables are known. */
static void test_what_is_known_about_a_backend_survives_a_reload(void **state)
{
	struct destinations destinations = {.ports = 2};
	struct routes *old = make_routes(3), *new = make_routes(2), *larger = make_routes(9);

	(void)state;
	assert_true(destinations_follow(&destinations, old, false));
	assert_true(set_path(path_of(&destinations, 1, 1), &routers[0]));
	assert_true(destinations_follow(&destinations, new, true));
	assert_int_equal(destinations.count, 3);
	assert_int_equal(path_of(&destinations, 1, 1)->count, 1);
	assert_true(destinations_follow(&destinations, new, false));
	assert_int_equal(destinations.count, 2);
	assert_null(find_path(&destinations, 0, 2, 0));
	assert_true(destinations_follow(&destinations, larger, true));
	assert_int_equal(destinations.count, 9);
	assert_ptr_equal(path_of(&destinations, 1, 1)->links[0].neighbour, &routers[0]);
	assert_false(path_of(&destinations, 1, 0)->done);
	destinations_free(&destinations);
	routes_free(old);
	routes_free(new);
	routes_free(larger);
}

static void test_a_path_that_stays_the_same_has_not_changed(void **state)
{
	struct path path = {0};

	(void)state;
	assert_true(set_path(&path, &routers[0]));
	assert_false(set_path(&path, &routers[0]));
	assert_true(path_is_usable(&path));
	assert_true(set_path(&path, &routers[1]));
	assert_true(set_path(&path, NULL));
	assert_false(set_path(&path, NULL));
	assert_false(path_is_usable(&path));
	assert_string_equal(path.why, "no route");
	free(path.links);
}

/* All other backends have the same next hop, so it would be easy to send everything there. */
static void test_packets_to_a_backend_without_a_route_have_no_next_hop(void **state)
{
	struct destinations destinations = {.ports = 1};
	struct routes *routes = make_routes(5);
	struct next_hops *next_hops;

	(void)state;
	assert_true(destinations_follow(&destinations, routes, false));
	for (uint32_t i = 0; i < 5; i++)
		set_path(path_of(&destinations, i, 0), i == 3 ? NULL : &routers[0]);
	next_hops = destinations_build(&destinations, routes, 0);
	assert_non_null(next_hops);
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t port = 0; port < 65536; port += 1021)
			assert_int_equal(next_hops_find(next_hops, routes_backend(routes, 0, i), (uint16_t)port),
				i == 3 ? 0 : MAC);
	next_hops_free(next_hops);
	destinations_free(&destinations);
	routes_free(routes);
}

static void test_one_next_hop_for_all_is_a_single_one(void **state)
{
	struct destinations destinations = {.ports = 2};
	struct routes *routes = make_routes(5);
	struct next_hops *next_hops;

	(void)state;
	assert_true(destinations_follow(&destinations, routes, false));
	for (uint32_t i = 0; i < 5; i++) {
		set_path(path_of(&destinations, i, 0), &routers[0]);
		set_path(path_of(&destinations, i, 1), i == 2 ? &routers[0] : &routers[1]);
	}
	next_hops = destinations_build(&destinations, routes, 0);
	assert_true(next_hops->single);
	assert_int_equal(next_hops->mac, MAC);
	next_hops_free(next_hops);
	next_hops = destinations_build(&destinations, routes, 1);
	assert_false(next_hops->single);
	assert_int_equal(next_hops_find(next_hops, routes_backend(routes, 0, 2), 1), MAC);
	assert_int_equal(next_hops_find(next_hops, routes_backend(routes, 0, 3), 1), OTHER);
	next_hops_free(next_hops);
	destinations_free(&destinations);
	routes_free(routes);
}

static void test_tables_without_backends_have_no_destinations(void **state)
{
	struct destinations destinations = {.ports = 1};
	struct table_set set = {0};
	struct routes *routes = handmade_routes(&set);
	struct next_hops *next_hops;

	(void)state;
	assert_true(destinations_follow(&destinations, routes, true));
	assert_int_equal(destinations.count, 0);
	assert_null(find_path(&destinations, 0, 1, 0));
	next_hops = destinations_build(&destinations, routes, 0);
	assert_non_null(next_hops);
	next_hops_free(next_hops);
	destinations_free(&destinations);
	routes_free(routes);
}

/* The kernel lists the next hops of an IPv6 route in an order that depends on the destination. */
static void test_the_order_of_next_hops_does_not_matter(void **state)
{
	struct hop_link *links = calloc(2, sizeof(*links)), *others = calloc(2, sizeof(*others));
	struct path path = {0};

	(void)state;
	links[0] = others[1] = (struct hop_link){&routers[1], 3};
	links[1] = others[0] = (struct hop_link){&routers[0], 1};
	path_sort(links, 2);
	path_sort(others, 2);
	assert_true(path_replace(&path, links, 2, NULL));
	assert_false(path_replace(&path, others, 2, NULL));
	free(path.links);
}

static int use_ipv4(void **state)
{
	(void)state;
	family = NETADDR_V4;
	return 0;
}

static int use_ipv6(void **state)
{
	(void)state;
	family = NETADDR_V6;
	return 0;
}

static int use_both(void **state)
{
	(void)state;
	family = NETADDR_NONE;
	return 0;
}

#define EACH_FAMILY(test)                                                               \
	cmocka_unit_test_setup(test, use_ipv4), cmocka_unit_test_setup(test, use_ipv6), \
		cmocka_unit_test_setup(test, use_both)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_FAMILY(test_destinations_are_the_backends_that_are_first_in_a_row),
		EACH_FAMILY(test_what_is_known_about_a_backend_survives_a_reload),
		cmocka_unit_test(test_a_path_that_stays_the_same_has_not_changed),
		EACH_FAMILY(test_packets_to_a_backend_without_a_route_have_no_next_hop),
		EACH_FAMILY(test_one_next_hop_for_all_is_a_single_one),
		cmocka_unit_test(test_the_order_of_next_hops_does_not_matter),
		cmocka_unit_test(test_tables_without_backends_have_no_destinations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
