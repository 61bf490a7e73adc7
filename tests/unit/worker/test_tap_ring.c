/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker/tap/tap_ring.h"

enum { SIZE = 1024, RECORDS = 20000 };

static uint64_t memory[SIZE / 8];

static struct tap_ring make(void)
{
	return (struct tap_ring){.memory = (uint8_t *)memory, .size = SIZE};
}

/* Writes a record whose bytes are all its number. Returns 1 if there was room. */
static unsigned put(struct tap_ring *ring, uint32_t size, unsigned number)
{
	uint8_t *room = tap_ring_reserve(ring, size);

	if (!room)
		return 0;
	memset(room, (int)number, size);
	tap_ring_commit(ring, size);
	return 1;
}

static void take(struct tap_ring *ring, uint32_t expected, unsigned number)
{
	uint32_t size;
	const uint8_t *record = tap_ring_peek(ring, &size);

	assert_non_null(record);
	assert_int_equal(size, expected);
	assert_int_equal((uintptr_t)record % 8, 0);
	for (uint32_t i = 0; i < size; i++)
		assert_int_equal(record[i], (uint8_t)number);
	tap_ring_release(ring);
}

static void test_full_ring_takes_no_record_and_keeps_the_others(void **state)
{
	struct tap_ring ring = make();
	uint32_t size;
	unsigned count = 0;

	(void)state;
	assert_null(tap_ring_peek(&ring, &size));
	while (put(&ring, 100, count))
		count++;
	assert_int_equal(count, SIZE / 112);
	for (unsigned i = 0; i < count; i++)
		take(&ring, 100, i);
	assert_null(tap_ring_peek(&ring, &size));
}

static void test_records_of_all_sizes_stay_whole_at_the_end_of_the_memory(void **state)
{
	struct tap_ring ring = make();

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		uint32_t size = 1 + i * 7 % (SIZE / 2 - 8);

		assert_int_equal(put(&ring, size, i), 1);
		take(&ring, size, i);
	}
}

static void test_reserved_room_without_commit_is_no_record(void **state)
{
	struct tap_ring ring = make();
	uint32_t size;

	(void)state;
	assert_non_null(tap_ring_reserve(&ring, 64));
	assert_null(tap_ring_peek(&ring, &size));
	assert_int_equal(put(&ring, 8, 5), 1);
	take(&ring, 8, 5);
}

static void *consume(void *argument)
{
	struct tap_ring *ring = argument;
	unsigned next = 0;

	while (next < RECORDS) {
		uint32_t size;
		const uint8_t *record = tap_ring_peek(ring, &size);

		if (!record) {
			sched_yield();
			continue;
		}
		for (uint32_t i = 0; i < size; i++)
			if (record[i] != (uint8_t)next)
				return (void *)1;
		tap_ring_release(ring);
		next++;
	}
	return NULL;
}

static void test_another_thread_gets_each_record_once_and_in_order(void **state)
{
	struct tap_ring ring = make();
	pthread_t thread;
	void *failed;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, consume, &ring), 0);
	for (unsigned i = 0; i < RECORDS; i++)
		while (!put(&ring, 1 + i % 200, i))
			sched_yield();
	pthread_join(thread, &failed);
	assert_null(failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_ring_takes_no_record_and_keeps_the_others),
		cmocka_unit_test(test_records_of_all_sizes_stay_whole_at_the_end_of_the_memory),
		cmocka_unit_test(test_reserved_room_without_commit_is_no_record),
		cmocka_unit_test(test_another_thread_gets_each_record_once_and_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
