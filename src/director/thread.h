/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the threads of the director that run until its end. */
#pragma once

#include <pthread.h>
#include <sched.h>

/*
 * Starts run(argument) in a thread that is on the CPUs `cpus` from its first instruction. The caller may be pinned to
 * the CPU of an lcore; the thread and all threads that it starts are not. Any thread. Returns 0 or an error number.
 */
int thread_start(pthread_t *thread, const char *name, const cpu_set_t *cpus, void *(*run)(void *), void *argument);
