/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/neighbour.h>
#include <string.h>
#include <sys/socket.h>

#include "director/nexthop/neighbours.h"

#define MAC   UINT64_C(0x010000000002)
#define OTHER UINT64_C(0x020000000002)

static struct neighbours neighbours;
static unsigned probes;
static uint8_t probed[2000];

static int clear(void **state)
{
	(void)state;
	neighbours_free(&neighbours);
	memset(probed, 0, sizeof(probed));
	probes = 0;
	return 0;
}

static struct neighbour_key key_of(uint32_t number)
{
	struct neighbour_key key = {.interface = 2, .family = AF_INET};

	memcpy(key.address, &number, sizeof(number));
	return key;
}

static struct neighbour *add(uint32_t number)
{
	struct neighbour_key key = key_of(number);
	struct neighbour *neighbour = neighbours_get(&neighbours, &key, 1);

	assert_non_null(neighbour);
	return neighbour;
}

static bool update(struct neighbour *neighbour, uint16_t nud, uint64_t mac, uint64_t now_ms)
{
	struct neighbour_entry entry = {.key = neighbour->key, .state = nud, .mac = mac};

	return neighbour_update(neighbour, &entry, now_ms);
}

static void count_probe(void *context, struct neighbour *neighbour)
{
	uint32_t number;

	(void)context;
	memcpy(&number, neighbour->key.address, sizeof(number));
	probed[number]++;
	probes++;
}

static unsigned probe(uint64_t now_ms, unsigned count, unsigned failed)
{
	probes = 0;
	neighbours_probe(&neighbours, now_ms, count, failed, count_probe, NULL);
	return probes;
}

static void test_a_neighbour_that_fails_has_no_mac(void **state)
{
	struct neighbour *neighbour = add(1);

	(void)state;
	assert_int_equal(neighbour_mac(neighbour), 0);
	assert_false(neighbour->settled);
	assert_string_equal(neighbour_states[neighbour_state(neighbour)], "resolving");
	assert_true(update(neighbour, NUD_REACHABLE, MAC, 1000));
	assert_int_equal(neighbour_mac(neighbour), MAC);
	assert_string_equal(neighbour_states[neighbour_state(neighbour)], "reachable");
	assert_true(update(neighbour, NUD_FAILED, MAC, 2000));
	assert_int_equal(neighbour_mac(neighbour), 0);
	assert_string_equal(neighbour_states[neighbour_state(neighbour)], "failed");
	assert_int_equal(neighbour->changed_ms, 2000);
	assert_false(update(neighbour, NUD_INCOMPLETE, 0, 2500)); /* the kernel asks again */
	assert_string_equal(neighbour_states[neighbour_state(neighbour)], "failed");
	assert_true(update(neighbour, NUD_REACHABLE, OTHER, 3000));
	assert_int_equal(neighbour_mac(neighbour), OTHER);
}

static void test_an_old_or_deleted_entry_keeps_its_mac_and_is_probed(void **state)
{
	struct neighbour *neighbour = add(1);

	(void)state;
	assert_true(update(neighbour, NUD_REACHABLE, MAC, 1000));
	assert_int_equal(probe(2000, 50, 50), 0);
	assert_false(update(neighbour, NUD_STALE, MAC, 3000));
	assert_int_equal(neighbour_mac(neighbour), MAC);
	assert_int_equal(probe(3000, 50, 50), 1);
	assert_false(update(neighbour, NUD_REACHABLE, MAC, 3500));
	assert_false(neighbour_update(neighbour, NULL, 4000));
	assert_int_equal(neighbour_mac(neighbour), MAC);
	assert_string_equal(neighbour_states[neighbour_state(neighbour)], "resolving");
	assert_int_equal(probe(4000, 50, 50), 1);
	assert_false(update(neighbour, NUD_INCOMPLETE, 0, 4100));
	assert_int_equal(neighbour_mac(neighbour), MAC);
	assert_true(update(neighbour, NUD_FAILED, 0, 7000));
	assert_int_equal(neighbour_mac(neighbour), 0);
}

static void test_a_next_hop_that_is_down_has_no_mac(void **state)
{
	struct neighbour *neighbour = add(1);

	(void)state;
	assert_true(update(neighbour, NUD_REACHABLE, MAC, 1000));
	assert_true(neighbour_set_down(neighbour, true, 2000));
	assert_int_equal(neighbour_mac(neighbour), 0);
	assert_string_equal(neighbour_states[neighbour_state(neighbour)], "down");
	assert_false(update(neighbour, NUD_STALE, MAC, 3000));
	assert_true(neighbour_set_down(neighbour, false, 4000));
	assert_int_equal(neighbour_mac(neighbour), MAC);
	assert_false(neighbour_set_down(neighbour, false, 5000));

	/* It is not probed while it is down. When it is back, it does not wait as long as one that failed. */
	assert_true(update(neighbour, NUD_FAILED, 0, 6000));
	assert_false(neighbour_set_down(neighbour, true, 7000));
	assert_int_equal(probe(100000, 50, 50), 0);
	assert_false(neighbour_set_down(neighbour, false, 100000));
	assert_int_equal(probe(100000, 50, 0), 1);
}

static void test_an_entry_without_an_ethernet_address_has_no_mac(void **state)
{
	struct neighbour *neighbour = add(1);

	(void)state;
	assert_false(update(neighbour, NUD_NOARP, 0, 1000));
	assert_int_equal(neighbour_mac(neighbour), 0);
	assert_string_equal(neighbour_states[neighbour_state(neighbour)], "noarp");
}

static void test_the_kernel_is_not_asked_about_permanent_entries(void **state)
{
	(void)state;
	assert_true(update(add(1), NUD_PERMANENT, MAC, 1000));
	assert_int_equal(probe(100000, 50, 50), 0);
}

static void test_probes_are_spread_and_reach_everybody_once(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		add(i);
	for (unsigned step = 0; step < 20; step++)
		assert_int_equal(probe(100 + step, 50, 50), 50);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(probed[i], 1);
	assert_int_equal(probe(200, 50, 50), 0);
}

/* A thousand proxies that are switched off must not cause a thousand requests at once, and must not delay the others. */
static void test_failed_neighbours_are_retried_slowly_and_do_not_delay_others(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		update(add(i), i % 10 ? NUD_FAILED : NUD_STALE, MAC, 1000);
	assert_int_equal(probe(10000, 200, 3), 103);
	for (uint32_t i = 0; i < 1000; i += 10)
		assert_int_equal(probed[i], 1);
	for (unsigned step = 0; step < 299; step++)
		assert_in_range(probe(10001, 200, 3), 1, 3);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(probed[i], 1);
}

static void test_sweep_keeps_what_is_used(void **state)
{
	struct neighbour_key key;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		add(i)->used = i % 3 == 0;
	neighbours_sweep(&neighbours);
	assert_int_equal(neighbours.count, 334);
	for (uint32_t i = 0; i < 1000; i++) {
		key = key_of(i);
		assert_int_equal(neighbours_get(&neighbours, &key, 0) != NULL, i % 3 == 0);
	}
	neighbours_sweep(&neighbours);
	assert_int_equal(neighbours.count, 0);
	assert_int_equal(probe(1000000, 50, 50), 0);
}

static void test_ids_differ(void **state)
{
	struct neighbour_key key = key_of(5);
	uint64_t id = add(5)->id;

	(void)state;
	assert_int_equal(add(5)->id, id);
	assert_int_equal(neighbours.count, 1);
	key.interface = 3;
	assert_int_not_equal(neighbours_get(&neighbours, &key, 1)->id, id);
	key = key_of(5);
	key.family = AF_INET6;
	assert_int_not_equal(neighbours_get(&neighbours, &key, 1)->id, id);
	assert_int_equal(neighbours.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_neighbour_that_fails_has_no_mac, clear),
		cmocka_unit_test_setup(test_an_old_or_deleted_entry_keeps_its_mac_and_is_probed, clear),
		cmocka_unit_test_setup(test_a_next_hop_that_is_down_has_no_mac, clear),
		cmocka_unit_test_setup(test_an_entry_without_an_ethernet_address_has_no_mac, clear),
		cmocka_unit_test_setup(test_the_kernel_is_not_asked_about_permanent_entries, clear),
		cmocka_unit_test_setup(test_probes_are_spread_and_reach_everybody_once, clear),
		cmocka_unit_test_setup(test_failed_neighbours_are_retried_slowly_and_do_not_delay_others, clear),
		cmocka_unit_test_setup(test_sweep_keeps_what_is_used, clear),
		cmocka_unit_test_setup_teardown(test_ids_differ, clear, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
