/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/reload_requests.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

int reload_requests_open(struct reload_requests *requests)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&requests->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&requests->completion, &attributes);
	pthread_condattr_destroy(&attributes);
	requests->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return requests->fd < 0 ? errno : 0;
}

void reload_requests_close(struct reload_requests *requests)
{
	if (requests->fd >= 0)
		close(requests->fd);
}

bool reload_requests_wait(struct reload_requests *requests, const struct worker_shared *shared, bool force,
	unsigned timeout_ms, struct control_outcome *outcome)
{
	struct timespec until = clock_timespec(clock_now_us() + timeout_ms * UINT64_C(1000));
	uint64_t one = 1, ticket;
	bool done;
	int error = 0;

	pthread_mutex_lock(&requests->lock);
	ticket = ++requests->requested;
	if (write(requests->fd, &one, sizeof(one)) < 0)
		error = errno;
	else
		requests->force |= force;
	while (!error && requests->completed < ticket && !worker_shared_stopping(shared))
		error = pthread_cond_timedwait(&requests->completion, &requests->lock, &until);
	done = requests->completed >= ticket;
	if (done)
		*outcome = requests->outcome;
	pthread_mutex_unlock(&requests->lock);
	return done;
}

uint64_t reload_requests_take(struct reload_requests *requests, bool *force)
{
	uint64_t count, number;

	if (read(requests->fd, &count, sizeof(count)) < 0)
		return 0;
	pthread_mutex_lock(&requests->lock);
	number = requests->requested;
	*force = requests->force;
	requests->force = false;
	pthread_mutex_unlock(&requests->lock);
	return number;
}

void reload_requests_complete(struct reload_requests *requests, uint64_t number, const struct reload *reload)
{
	pthread_mutex_lock(&requests->lock);
	requests->outcome.generation = reload->shared->live->generation;
	requests->outcome.digest = reload->shared->live->routes->digest;
	memcpy(requests->outcome.error, reload->last_error, sizeof(requests->outcome.error));
	requests->completed = number;
	pthread_cond_broadcast(&requests->completion);
	pthread_mutex_unlock(&requests->lock);
}

void reload_requests_wake(struct reload_requests *requests)
{
	pthread_mutex_lock(&requests->lock);
	pthread_cond_broadcast(&requests->completion);
	pthread_mutex_unlock(&requests->lock);
}
