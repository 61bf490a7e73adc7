/* SPDX-License-Identifier: BSD-3-Clause */
/* A tap between the steps of a burst: which packets it chooses, with which verdict, and what it loses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker/tap/tap.h"

enum { COUNT = 4, FRAME_SIZE = 60, SNAPLEN = 64, HOUR = 3600 };

#define ALL          ((2u << CAPTURE_RETURNED) - 1)
#define BIT(verdict) (1u << (verdict))

static struct tap tap;
static struct tap_choice choice;
static uint8_t *memory;
static struct burst burst;
static struct rte_mbuf mbufs[COUNT], *pointers[COUNT];
static uint8_t frames[COUNT][FRAME_SIZE];
static struct live_table live;

/* hz: of the clock. A slow clock gives the tap much time, and a clock of 0 Hz none. */
static void begin(uint32_t verdicts, uint64_t hz)
{
	choice = (struct tap_choice){.verdicts = verdicts, .slot = -1, .snaplen = SNAPLEN};
	memory = aligned_alloc(64, tap_memory(&choice));
	tap = (struct tap){.lcore = 3};
	tap_init(&tap, &choice, memory, hz);
	burst = (struct burst){.count = COUNT};
	for (unsigned i = 0; i < COUNT; i++) {
		memset(frames[i], 'a' + (int)i, FRAME_SIZE);
		mbufs[i] = (struct rte_mbuf){
			.buf_addr = frames[i], .data_len = FRAME_SIZE, .pkt_len = FRAME_SIZE, .port = 1};
		pointers[i] = &mbufs[i];
		burst.frame[i] = burst.out[i] = frames[i];
		burst.readable[i] = burst.size[i] = burst.out_size[i] = FRAME_SIZE;
		burst.verdict[i] = VERDICT_DROP_UNMATCHED;
	}
}

static const struct capture_record *next_record(void)
{
	uint32_t size;

	return (const struct capture_record *)tap_ring_peek(&tap.ring, &size);
}

/* The next record has this verdict and the frame with this number. */
static void assert_next(uint8_t verdict, unsigned number)
{
	const struct capture_record *record = next_record();

	assert_non_null(record);
	assert_int_equal(record->verdict, verdict);
	assert_int_equal(record->in_port, 1);
	assert_int_equal(record->lcore, 3);
	assert_int_equal(record->in_captured, FRAME_SIZE);
	assert_int_equal(record->data[0], 'a' + number);
	tap_ring_release(&tap.ring);
}

static void end(void)
{
	assert_null(next_record());
	free(memory);
}

static void test_verdict_of_a_packet_that_is_dropped_late_is_the_last_one(void **state)
{
	(void)state;
	begin(BIT(VERDICT_DROP_TX_FULL) | BIT(VERDICT_DROP_EXCEPTION_LIMITED), HOUR * 1000000000ull);
	tap_before(&tap, &burst, pointers, &live, 7);
	burst.verdict[0] = burst.verdict[1] = VERDICT_FORWARDED;
	burst.verdict[2] = burst.verdict[3] = VERDICT_EXCEPTION;
	memset(frames, 'x', sizeof(frames)); /* as the pipeline does */
	tap_between(&tap, &burst, pointers);
	tap_ready(&tap, &burst);
	tap_drop(&tap, pointers[1], VERDICT_DROP_TX_FULL, 7);
	tap_drop(&tap, pointers[3], VERDICT_DROP_EXCEPTION_LIMITED, CAPTURE_NO_PORT);
	tap_after(&tap);
	assert_next(VERDICT_DROP_TX_FULL, 1);
	assert_next(VERDICT_DROP_EXCEPTION_LIMITED, 3);
	assert_int_equal(tap.counters.matched, 2);
	end();
}

static void test_verdicts_of_unchanged_frames_are_looked_at_first(void **state)
{
	(void)state;
	begin(BIT(VERDICT_DROP_MARTIAN) | BIT(VERDICT_DROP_EXCEPTION_FULL), HOUR * 1000000000ull);
	assert_true(tap.late);
	tap_before(&tap, &burst, pointers, &live, 7);
	burst.verdict[1] = VERDICT_DROP_MARTIAN;
	burst.verdict[2] = burst.verdict[3] = VERDICT_EXCEPTION;
	tap_between(&tap, &burst, pointers);
	assert_int_equal(tap.count, 3);
	tap_ready(&tap, &burst);
	tap_drop(&tap, pointers[2], VERDICT_DROP_EXCEPTION_FULL, CAPTURE_NO_PORT);
	tap_after(&tap);
	assert_next(VERDICT_DROP_MARTIAN, 1);
	assert_next(VERDICT_DROP_EXCEPTION_FULL, 2);
	end();
}

static void test_packets_beyond_the_time_are_counted_and_not_examined(void **state)
{
	(void)state;
	begin(ALL, 0);
	tap_before(&tap, &burst, pointers, &live, 7);
	tap_ready(&tap, &burst);
	tap_after(&tap);
	assert_int_equal(tap.counters.skipped, COUNT);
	assert_int_equal(tap.counters.matched, 0);
	end();
}

static void test_full_ring_loses_packets_and_counts_them(void **state)
{
	uint64_t bursts = TAP_RING_SIZE / (sizeof(struct capture_record) + FRAME_SIZE) / COUNT + 10;

	(void)state;
	begin(ALL, HOUR * 1000000000ull);
	for (uint64_t i = 0; i < bursts; i++) {
		tap_before(&tap, &burst, pointers, &live, 7);
		tap_between(&tap, &burst, pointers);
		tap_ready(&tap, &burst);
		tap_after(&tap);
	}
	assert_int_equal(tap.counters.matched, bursts * COUNT);
	assert_in_range(tap.counters.lost, COUNT, bursts * COUNT - 1);
	for (uint64_t i = 0; i < bursts * COUNT - tap.counters.lost; i++) {
		assert_int_equal(next_record()->counters.matched, i + 1);
		assert_int_equal(next_record()->counters.lost, 0);
		assert_next(VERDICT_DROP_UNMATCHED, (unsigned)(i % COUNT));
	}
	tap_before(&tap, &burst, pointers, &live, 7);
	tap_ready(&tap, &burst);
	tap_after(&tap);
	assert_int_equal(next_record()->counters.lost, tap.counters.lost);
	for (unsigned i = 0; i < COUNT; i++)
		assert_next(VERDICT_DROP_UNMATCHED, i);
	end();
}

static void test_frame_of_another_lcore_is_captured_only_with_its_mark(void **state)
{
	(void)state;
	begin(BIT(VERDICT_DROP_TX_FULL), HOUR * 1000000000ull);
	tap_before(&tap, &burst, pointers, &live, 7);
	for (unsigned i = 0; i < COUNT; i++)
		burst.verdict[i] = VERDICT_FORWARDED;
	tap_ready(&tap, &burst);
	tap.packets[2].wanted = false;
	tap_mark(&tap, pointers, COUNT);
	tap_after(&tap);
	assert_null(next_record());
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(mbufs[i].hash.usr & TAP_MARK, i == 2 ? 0 : TAP_MARK);
		tap_drop(&tap, pointers[i], VERDICT_DROP_TX_FULL, 9);
	}
	for (unsigned i = 0; i < COUNT - 1; i++) {
		const struct capture_record *record = next_record();

		assert_non_null(record);
		assert_int_equal(record->out_port, 9);
		assert_int_equal(record->in_port, CAPTURE_NO_PORT);
		assert_int_equal(record->data[0], "abd"[i]);
		tap_ring_release(&tap.ring);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdict_of_a_packet_that_is_dropped_late_is_the_last_one),
		cmocka_unit_test(test_verdicts_of_unchanged_frames_are_looked_at_first),
		cmocka_unit_test(test_packets_beyond_the_time_are_counted_and_not_examined),
		cmocka_unit_test(test_full_ring_loses_packets_and_counts_them),
		cmocka_unit_test(test_frame_of_another_lcore_is_captured_only_with_its_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
