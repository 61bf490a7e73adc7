/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/thread.h"

int thread_start(pthread_t *thread, const char *name, const cpu_set_t *cpus, void *(*run)(void *), void *argument)
{
	pthread_attr_t attr;
	int error = pthread_attr_init(&attr);

	if (error)
		return error;
	error = pthread_attr_setaffinity_np(&attr, sizeof(*cpus), cpus);
	if (!error)
		error = pthread_create(thread, &attr, run, argument);
	pthread_attr_destroy(&attr);
	if (!error)
		pthread_setname_np(*thread, name);
	return error;
}
