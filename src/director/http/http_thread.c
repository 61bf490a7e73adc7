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
#include "director/page/history.h"
#include "director/thread.h"
#include "program/http/http_server.h"
#include "program/log.h"
#include "program/statsd/statsd.h"

enum {
	/* Between two attempts to listen. */
	RETRY_MS = 5000,
	/* The control thread, which may have the same CPU, goes first. */
	NICENESS = 10,
	/* Between two rounds of statsd: the flush interval of most servers. */
	STATSD_INTERVAL_MS = 10000,
	/* The longest time between two steps of a round. */
	STATSD_WAIT_MS = 1000,
	/* Items of the page that a step sends. */
	STATSD_STEP_ITEMS = 500,
};

/*
 * Sends the metrics to a statsd server every 10 seconds. A round about a large table is sent in steps, so that the
 * thread serves HTTP meanwhile.
 */
struct statsd_round {
	struct director *director;
	/* NULL: nothing is sent. */
	struct statsd *statsd;
	/* When the next round begins, in milliseconds of clock_now_ms(). */
	uint64_t next_ms;
	bool running;
	struct metrics metrics;
};

/* Sends nothing if config->enabled is not set. */
static void open_round(struct statsd_round *round, struct director *director, const struct statsd_config *config)
{
	*round = (struct statsd_round){.director = director};
	if (!config->enabled)
		return;
	round->statsd = statsd_open(config);
	if (!round->statsd)
		log_error("statsd: nothing is sent: out of memory");
}

static void close_round(struct statsd_round *round)
{
	if (round->running)
		view_free(round->metrics.view);
	statsd_close(round->statsd);
	round->statsd = NULL;
}

static void begin_round(struct statsd_round *round, uint64_t now_ms)
{
	round->running = metrics_begin(&round->metrics, round->director,
		&(struct openmetrics){.take = statsd_take, .take_context = round->statsd});
	round->next_ms = now_ms + STATSD_INTERVAL_MS;
}

/* Does a step. Returns after how many milliseconds it must be called again; -1: never. */
static int step_round(struct statsd_round *round)
{
	enum http_more more = HTTP_MORE;
	uint64_t now_ms = clock_now_ms();

	if (!round->statsd)
		return -1;
	if (!round->running && !statsd_ready(round->statsd, now_ms))
		return STATSD_WAIT_MS;
	if (!round->running && now_ms < round->next_ms)
		return round->next_ms - now_ms < STATSD_WAIT_MS ? (int)(round->next_ms - now_ms) : STATSD_WAIT_MS;
	if (!round->running)
		begin_round(round, now_ms);
	if (!round->running)
		return STATSD_WAIT_MS;
	for (unsigned i = 0; i < STATSD_STEP_ITEMS && more == HTTP_MORE; i++)
		more = metrics_step(&round->metrics);
	if (more == HTTP_MORE)
		return 0;
	statsd_end(round->statsd, more == HTTP_END && !round->metrics.view->left_out, now_ms);
	view_free(round->metrics.view);
	round->running = false;
	return STATSD_WAIT_MS;
}

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
	open_round(&thread->statsd, thread->context.director, &thread->conf->statsd);
	while (!(fds[0].revents & POLLIN)) {
		int timeout_ms = serve(thread, &fds[1].fd);

		poll(fds, 2, shorter(timeout_ms, step_round(&thread->statsd)));
	}
	close_round(&thread->statsd);
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
