/* SPDX-License-Identifier: BSD-3-Clause */
/* script/sanitize --thread includes this before each source: calls whose order ThreadSanitizer would not see. */
#pragma once
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<rte_rcu_qsbr.h>)
#include <rte_rcu_qsbr.h>
/* The function is in a library that is not instrumented. These two are inline. */
#define rte_rcu_qsbr_synchronize(qsbr, thread) rte_rcu_qsbr_check(qsbr, rte_rcu_qsbr_start(qsbr), true)
#endif

/* ThreadSanitizer knows pthread_tryjoin_np(), and gcc 12's does not know pthread_clockjoin_np(). */
static inline int thread_clockjoin(pthread_t thread, void **result, clockid_t clock, const struct timespec *until)
{
	struct timespec now;
	int error;

	do {
		usleep(1000);
		clock_gettime(clock, &now);
		error = pthread_tryjoin_np(thread, result);
	} while (error == EBUSY &&
		 (now.tv_sec < until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec < until->tv_nsec)));
	return error;
}
#define pthread_clockjoin_np thread_clockjoin
