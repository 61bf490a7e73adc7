/* SPDX-License-Identifier: BSD-3-Clause */
/* On which CPUs a thread of the director runs its first instruction. */
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "director/thread.h"

static sem_t ran;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);

/* Returns after the thread has looked at its CPUs, as if the kernel had run the thread first. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
	int error = __real_pthread_create(thread, attr, run, argument);

	if (!error)
		sem_wait(&ran);
	return error;
}

static void *look(void *cpus)
{
	sched_getaffinity(0, sizeof(cpu_set_t), cpus);
	sem_post(&ran);
	return NULL;
}

/* The CPU of the calling thread, and the others; `other` is empty if there is only one. */
static void split(cpu_set_t *own, cpu_set_t *other)
{
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(*other), other), 0);
	while (!CPU_ISSET(cpu, other))
		cpu++;
	CPU_CLR(cpu, other);
	CPU_ZERO(own);
	CPU_SET(cpu, own);
}

static void test_thread_begins_on_its_cpus(void **state)
{
	cpu_set_t before, own, other, seen;
	pthread_t thread;

	(void)state;
	sched_getaffinity(0, sizeof(before), &before);
	split(&own, &other);
	if (CPU_COUNT(&other) == 0) {
		puts("skipped: needs two CPUs");
		skip();
	}
	sched_setaffinity(0, sizeof(own), &own);
	sem_init(&ran, 0, 0);
	assert_int_equal(thread_start(&thread, "looking", &other, look, &seen), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	sched_setaffinity(0, sizeof(before), &before);
	assert_true(CPU_EQUAL(&seen, &other));
}

static void test_impossible_cpus_are_an_error(void **state)
{
	cpu_set_t none, seen;
	pthread_t thread;

	(void)state;
	CPU_ZERO(&none);
	assert_int_equal(thread_start(&thread, "nowhere", &none, look, &seen), EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread_begins_on_its_cpus),
		cmocka_unit_test(test_impossible_cpus_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
