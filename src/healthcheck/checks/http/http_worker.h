/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs each transfer of libcurl in a thread of its own. A peer can keep libcurl or OpenSSL busy for as long as it
 * sends, so neither may run in the thread of the event loop, nor share a thread with another transfer, nor use much CPU
 * time. Threads instead of processes, because all transfers share parsed certificates and TLS sessions. The threads
 * handle no signals.
 *
 * All functions are for the thread of the event loop. While a worker is busy, only its thread uses `easy` and the data
 * of its callbacks.
 */
#pragma once

#include <curl/curl.h>
#include <ev.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

/* CPU time of one transfer. Good ones need less than 3 ms, ten times as much on a slow machine. */
#define HTTP_WORKER_CPU_MS 100

struct http_worker;

struct http_workers {
	struct ev_loop *loop;
	ev_async wake;
	ev_timer meter;
	/* Called for each transfer that has ended. It may run the worker again, or close it. */
	void (*ended)(struct http_worker *worker);
	/* Called for each transfer that has used HTTP_WORKER_CPU_MS and is not aborted. It aborts the transfer. */
	void (*exhausted)(struct http_worker *worker);
	/* The workers whose transfers have not ended. */
	struct http_worker *busy;
	/* Guards `done`: the workers whose transfers have ended. */
	pthread_mutex_t lock;
	struct http_worker *done;
};

struct http_worker {
	struct http_workers *workers;
	/* Next in the list `done`. And the neighbours in the list `busy`: the place of the pointer to this worker, NULL
	 * if it is not busy. */
	struct http_worker *next, *next_busy, **busy_at;
	CURL *easy;
	/* How the last transfer ended. */
	CURLcode code;
	/* Why it got no socket; 0: it got one. */
	int error;
	pthread_t thread;
	/* CPU time of the thread before the transfer, in ns. */
	uint64_t cpu_ns;
	/* Posted when there is a transfer, or the thread must end. */
	sem_t work;
	bool closing;
	/* Guards the two members below. */
	pthread_mutex_t lock;
	/* The socket of the transfer; -1: none. */
	curl_socket_t socket;
	/* The transfer is ended: it gets no further socket. */
	bool aborted;
};

/* Sets the members but the two callbacks. `to` must not move until it is closed. Returns 0 or an errno. */
int http_workers_open(struct http_workers *to, struct ev_loop *loop);

/*
 * Waits until the aborted transfers have ended. Returns false if one of them does not end; then its thread still runs,
 * and nothing that it uses may be freed.
 */
bool http_workers_close(struct http_workers *workers);

/* Starts the thread. `to` must not move until it is closed. Returns 0 or an errno. */
int http_worker_open(struct http_worker *to, struct http_workers *workers);

/* Prepares `easy`, which has no options, for transfers of this worker. */
void http_worker_set(struct http_worker *worker);

/* Performs the transfer that the options of `easy` describe. ended() is called later, from the event loop. */
void http_worker_run(struct http_worker *worker);

/* Ends the transfer of a busy worker from outside, whatever its thread does. ended() is called when the thread has
 * noticed. */
void http_worker_abort(struct http_worker *worker);

/* True until ended() is called. */
static inline bool http_worker_is_busy(const struct http_worker *worker)
{
	return worker->busy_at;
}

/* The worker must not be busy. */
void http_worker_close(struct http_worker *worker);
