/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of routers that cannot forward GUE packets, and the ring that brings them from a worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <cmocka.h>
#include <pthread.h>

#include "director/health/underlay_report.h"
#include "common/byteorder.h"
#include "worker/underlay_notes.h"

#define START  5000u /* ms */
#define MINUTE UNDERLAY_REPORT_LOG_MS
#define MTU    1600

static struct underlay_report report;
static struct underlay_record records[UNDERLAY_REPORT_MAX];
static char text[UNDERLAY_REPORT_TEXT];

static int reset(void **state)
{
	(void)state;
	underlay_report_open(&report);
	return 0;
}

static struct underlay_note note(uint32_t backend, uint16_t mtu)
{
	struct underlay_note note = {.mtu = mtu};

	backend = htonl(0xc0a80000 | backend);
	note.backend = netaddr_from_bytes(NETADDR_V4, &backend);
	netaddr_parse("203.0.113.1", &note.router);
	return note;
}

static void assert_address(const struct netaddr *address, const char *expected)
{
	char buf[NETADDR_TEXT_MAX];

	assert_string_equal(netaddr_format(address, buf), expected);
}

static void add(uint32_t backend, uint16_t mtu, uint64_t now_ms)
{
	struct underlay_note added = note(backend, mtu);

	underlay_report_add(&report, &added, now_ms);
}

static void test_each_proxy_has_one_record_with_its_last_message(void **state)
{
	(void)state;
	add(7, 1500, START);
	add(3, 1400, START + 1);
	add(7, 1300, START + 2);
	assert_int_equal(underlay_report_read(&report, records), 2);
	assert_address(&records[0].last.backend, "192.168.0.3");
	assert_int_equal(records[0].messages, 1);
	assert_address(&records[1].last.backend, "192.168.0.7");
	assert_int_equal(records[1].messages, 2);
	assert_int_equal(records[1].last.mtu, 1300);
	assert_int_equal(records[1].seen_ms, START + 2);
}

static void test_one_line_a_minute_names_the_newest_message(void **state)
{
	(void)state;
	assert_false(underlay_report_tick(&report, MTU, START, text));
	add(7, 1500, START);
	assert_true(underlay_report_tick(&report, MTU, START, text));
	assert_string_equal(text,
		"the network to the proxies is too small: router 203.0.113.1 forwards at most 1500 bytes to proxy 192.168.0.7, "
		"but outbound_mtu is 1600 (1 message, 1 proxy)");
	for (uint32_t i = 0; i < 1000; i++)
		add(i % 3, 1400, START + 1 + i);
	assert_false(underlay_report_tick(&report, MTU, START + MINUTE - 1, text));
	assert_true(underlay_report_tick(&report, MTU, START + MINUTE, text));
	assert_string_equal(text,
		"the network to the proxies is too small: router 203.0.113.1 forwards at most 1400 bytes to proxy 192.168.0.0, "
		"but outbound_mtu is 1600 (1000 messages, 4 proxies)");
	assert_false(underlay_report_tick(&report, MTU, START + 3 * MINUTE, text));
}

static void test_a_guess_is_called_a_guess(void **state)
{
	struct underlay_note guess = note(7, 1492);

	(void)state;
	guess.guessed = true;
	assert_string_equal(underlay_report_text(&guess, text),
		"router 203.0.113.1 forwards at most 1492 bytes (a guess: it does not tell its MTU) to proxy 192.168.0.7");
}

static void test_a_record_is_forgotten_ten_minutes_after_its_last_message(void **state)
{
	(void)state;
	add(1, 1500, START);
	add(2, 1500, START);
	add(2, 1500, START + 1000);
	underlay_report_tick(&report, MTU, START + UNDERLAY_REPORT_EXPIRE_MS - 1, text);
	assert_int_equal(underlay_report_read(&report, records), 2);
	underlay_report_tick(&report, MTU, START + UNDERLAY_REPORT_EXPIRE_MS, text);
	assert_int_equal(underlay_report_read(&report, records), 1);
	assert_address(&records[0].last.backend, "192.168.0.2");
	underlay_report_tick(&report, MTU, START + UNDERLAY_REPORT_EXPIRE_MS + 1000, text);
	assert_int_equal(underlay_report_read(&report, records), 0);
}

static void test_the_oldest_record_makes_way(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 5 * UNDERLAY_REPORT_MAX; i++)
		add(i * 7 % 1000, 1500, START + i);
	assert_int_equal(underlay_report_read(&report, records), UNDERLAY_REPORT_MAX);
	for (uint32_t i = 0; i < UNDERLAY_REPORT_MAX; i++) {
		assert_true(records[i].seen_ms >= START + 4 * UNDERLAY_REPORT_MAX);
		if (i)
			assert_true(netaddr_compare(&records[i].last.backend, &records[i - 1].last.backend) > 0);
	}
}

static void test_ring_drops_notes_while_it_is_full(void **state)
{
	static struct underlay_notes ring;
	struct underlay_note taken;

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < UNDERLAY_NOTES + 10; i++) {
			struct underlay_note put = note(i, 1500);

			underlay_notes_put(&ring, &put);
		}
		for (uint32_t i = 0; i < UNDERLAY_NOTES; i++) {
			assert_true(underlay_notes_take(&ring, &taken));
			assert_memory_equal(&taken, &(struct underlay_note[]){note(i, 1500)}, sizeof(taken));
		}
		assert_false(underlay_notes_take(&ring, &taken));
	}
}

#define TRANSFERS 200000u

static void *write_notes(void *ring)
{
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		struct underlay_note put = {.mtu = (uint16_t)i};

		store_le32(put.backend.bytes, i);
		store_le32(put.router.bytes, ~i);
		underlay_notes_put(ring, &put);
	}
	return NULL;
}

/* Notes may be missing, but none is mixed from two. */
static void test_ring_passes_whole_notes_between_threads(void **state)
{
	static struct underlay_notes ring;
	struct underlay_note taken;
	uint32_t next = 0, count = 0;
	pthread_t writer;
	bool running = true;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, write_notes, &ring), 0);
	while (running) {
		running = pthread_tryjoin_np(writer, NULL) != 0;
		while (underlay_notes_take(&ring, &taken)) {
			uint32_t number = load_le32(taken.backend.bytes);

			assert_true(number >= next);
			assert_int_equal(load_le32(taken.router.bytes), ~number);
			assert_int_equal(taken.mtu, (uint16_t)number);
			next = number + 1;
			count++;
		}
	}
	assert_in_range(count, UNDERLAY_NOTES, TRANSFERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_proxy_has_one_record_with_its_last_message, reset),
		cmocka_unit_test_setup(test_one_line_a_minute_names_the_newest_message, reset),
		cmocka_unit_test_setup(test_a_guess_is_called_a_guess, reset),
		cmocka_unit_test_setup(test_a_record_is_forgotten_ten_minutes_after_its_last_message, reset),
		cmocka_unit_test_setup(test_the_oldest_record_makes_way, reset),
		cmocka_unit_test(test_ring_drops_notes_while_it_is_full),
		cmocka_unit_test(test_ring_passes_whole_notes_between_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
