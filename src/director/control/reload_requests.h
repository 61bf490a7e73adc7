/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests for a reload: telemetry threads make them and wait, and the control thread serves them. */
#ifndef GLB_DIRECTOR_CONTROL_RELOAD_REQUESTS_H
#define GLB_DIRECTOR_CONTROL_RELOAD_REQUESTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "director/control/reload.h"

struct control_outcome {
	uint64_t generation, digest; /* of the table in use after the reload */
	char error[RELOAD_ERROR_SIZE]; /* why the reload failed; "": it succeeded */
};

struct reload_requests {
	int fd; /* eventfd, readable when there are requests */
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t completion;
	uint64_t requested; /* number of requests */
	bool force; /* one of the requests that wait wants any valid table */
	uint64_t completed; /* the outcome is valid for the requests up to this number */
	struct control_outcome outcome;
};

/* 0, or an errno. The control thread closes them after the last request. */
int reload_requests_open(struct reload_requests *requests);
void reload_requests_close(struct reload_requests *requests);

/*
 * Makes a request and waits for the outcome. False: it takes longer than timeout_ms, or the director is stopping.
 * Not for the control thread.
 */
bool reload_requests_wait(struct reload_requests *requests, const struct worker_shared *shared, bool force,
	unsigned timeout_ms, struct control_outcome *outcome);

/*
 * For the control thread: takes all requests. Returns the number of the last one, or 0 if there are none. *force:
 * one of them has it.
 */
uint64_t reload_requests_take(struct reload_requests *requests, bool *force);

/* Reports the outcome of a reload to all that made a request up to this number. */
void reload_requests_complete(struct reload_requests *requests, uint64_t number, const struct reload *reload);

/* Wakes all that wait, because the director is stopping. */
void reload_requests_wake(struct reload_requests *requests);

#endif
