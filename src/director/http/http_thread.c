/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/http/http_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/endpoint.h"
#include "director/director.h"
#include "director/http/metrics.h"
#include "director/http/statsd_round.h"
#include "director/page/history.h"
#include "director/thread.h"
#include "program/http/http_server.h"
#include "program/log.h"

enum {
	/* Between two attempts to listen. */
	RETRY_MS = 5000,
	/* The control thread, which may have the same CPU, goes first. */
	NICENESS = 10,
};

struct http_thread {
	const struct conf *conf;
	struct metrics_context context;
	pthread_t thread;
	/* An eventfd: readable when the thread must end. */
	int stop;
	/* NULL: the address is not available yet. */
	struct http_server *server;
	struct statsd_round statsd;
	/* What the log says: the last attempt to listen failed for this reason; 0: it did not fail. */
	int logged;
	/* When to try again, in milliseconds of clock_now_ms(). */
	uint64_t retry_ms;
};

static const char *advice(int error)
{
	if (error == EADDRINUSE)
		return "another process listens there: stop it, or set metrics in director.conf to another address or to \"none\"";
	if (error == EADDRNOTAVAIL)
		return "no interface has this address: add it, or correct metrics in director.conf";
	if (error == EACCES)
		return "the port is privileged: set metrics in director.conf to a port above 1023";
	return "correct metrics in director.conf, or set it to \"none\"";
}

/* Listens. Logs the first failure, and that it works after one. */
static void try_to_listen(struct http_thread *thread)
{
	const struct endpoint *endpoint = &thread->conf->metrics;
	char address[ENDPOINT_TEXT_MAX];
	int error = -http_server_open(&thread->server, &endpoint->addr, endpoint->port, metrics_routes, &thread->context);

	endpoint_format(endpoint, address);
	if (!error && thread->logged)
		log_notice("metrics: served at http://%s/metrics now", address);
	else if (!error)
		log_info("metrics: served at http://%s/metrics", address);
	else if (error != thread->logged)
		log_error("metrics: cannot listen on %s: %s: %s; the director forwards without metrics and tries again every %d seconds",
			address, strerror(error), advice(error), RETRY_MS / 1000);
	thread->logged = error;
}

/* Returns in how many milliseconds the next sample is due. */
static int sample(struct history *history)
{
	return history ? history_step(history) : RETRY_MS;
}

/* Returns the shorter of two times in milliseconds; -1 is longer than all others. */
static int shorter(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Serves HTTP, and sets *fd to what to wait for. Returns after how many milliseconds it must be called again; -1:
 * never. */
static int serve(struct http_thread *thread, int *fd)
{
	int timeout_ms = RETRY_MS;

	if (!thread->conf->metrics.has_port)
		return -1;
	if (!thread->server && clock_now_ms() >= thread->retry_ms) {
		thread->retry_ms = clock_now_ms() + RETRY_MS;
		try_to_listen(thread);
	}
	if (thread->server) {
		*fd = http_server_descriptor(thread->server);
		timeout_ms = http_server_run(thread->server);
	}
	return shorter(timeout_ms, sample(thread->context.history));
}

static void *http_thread_run(void *argument)
{
	struct http_thread *thread = argument;
	struct pollfd fds[2] = {{.fd = thread->stop, .events = POLLIN}, {.fd = -1, .events = POLLIN}};

	if (thread->conf->metrics.has_port)
		thread->context.history = history_open(thread->context.director, &thread->context.director->reload);
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
	statsd_round_open(&thread->statsd, thread->context.director, &thread->conf->statsd);
	while (!(fds[0].revents & POLLIN)) {
		int timeout_ms = serve(thread, &fds[1].fd);

		poll(fds, 2, shorter(timeout_ms, statsd_round_step(&thread->statsd)));
	}
	statsd_round_close(&thread->statsd);
	http_server_close(thread->server);
	history_close(thread->context.history);
	return NULL;
}

struct http_thread *http_thread_start(struct director *director, const cpu_set_t *cpus)
{
	struct http_thread *thread;
	int error;

	if (!director->conf.metrics.has_port && !director->conf.statsd.enabled)
		return NULL;
	thread = calloc(1, sizeof(*thread));
	if (!thread) {
		log_error("metrics: not served: out of memory");
		return NULL;
	}
	*thread = (struct http_thread){.conf = &director->conf,
		.context = {.director = director},
		.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	error = thread->stop < 0 ? errno : thread_start(&thread->thread, "http", cpus, http_thread_run, thread);
	if (error) {
		log_error("metrics: not served: %s", strerror(error));
		if (thread->stop >= 0)
			close(thread->stop);
		free(thread);
		return NULL;
	}
	return thread;
}

void http_thread_stop(struct http_thread *thread)
{
	if (!thread)
		return;
	eventfd_write(thread->stop, 1);
	pthread_join(thread->thread, NULL);
	close(thread->stop);
	free(thread);
}
