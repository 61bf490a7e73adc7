/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/http/http_worker.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "healthcheck/checks/http/http_tls.h"

/* Bytes. OpenSSL and libcurl need less than 100 000. */
#define STACK ((size_t)512 << 10)

/* An aborted transfer ends when OpenSSL has finished a computation, or libcurl has read what had arrived. */
#define CLOSE_MS 2000

/* Seconds between two looks at the CPU time of the busy workers. */
#define METER_S 0.05

static void report(struct http_worker *worker)
{
	struct http_workers *workers = worker->workers;

	pthread_mutex_lock(&workers->lock);
	worker->next = workers->done;
	workers->done = worker;
	pthread_mutex_unlock(&workers->lock);
	ev_async_send(workers->loop, &workers->wake);
}

/*
 * Not curl_easy_perform(): libcurl 8.14 would wait for the end of this connection's TLS in the next transfer of the
 * handle, which may be for another proxy. All that a transfer uses ends with its own multi handle.
 */
static CURLcode perform(CURL *easy)
{
	CURLM *multi = curl_multi_init();
	CURLMcode error = curl_multi_add_handle(multi, easy);
	CURLMsg *message;
	CURLcode code = CURLE_FAILED_INIT;
	int running = 1, left;

	while (!error && running) {
		error = curl_multi_perform(multi, &running);
		if (!error && running)
			error = curl_multi_poll(multi, NULL, 0, 1000, NULL);
	}
	message = curl_multi_info_read(multi, &left);
	if (message)
		code = message->data.result;
	curl_multi_remove_handle(multi, easy);
	curl_multi_cleanup(multi);
	return code;
}

static void *http_worker_thread(void *data)
{
	struct http_worker *worker = data;

	http_tls_begin_thread();
	while (sem_wait(&worker->work) == 0 && !worker->closing) {
		worker->code = perform(worker->easy);
		report(worker);
	}
	http_tls_end_thread();
	return NULL;
}

static void join_busy(struct http_worker *worker)
{
	worker->busy_at = &worker->workers->busy;
	worker->next_busy = worker->workers->busy;
	if (worker->next_busy)
		worker->next_busy->busy_at = &worker->next_busy;
	worker->workers->busy = worker;
}

static void leave_busy(struct http_worker *worker)
{
	*worker->busy_at = worker->next_busy;
	if (worker->next_busy)
		worker->next_busy->busy_at = worker->busy_at;
	worker->busy_at = NULL;
}

/* Calls ended() for each transfer that has ended. */
static void reap(struct http_workers *workers)
{
	struct http_worker *worker, *next;

	pthread_mutex_lock(&workers->lock);
	worker = workers->done;
	workers->done = NULL;
	pthread_mutex_unlock(&workers->lock);
	for (; worker; worker = next) {
		next = worker->next;
		leave_busy(worker);
		workers->ended(worker);
	}
}

static void on_wake(struct ev_loop *, ev_async *wake, int)
{
	reap(wake->data);
}

/* CPU time of the worker's thread, in ns. */
static uint64_t cpu_ns(const struct http_worker *worker)
{
	struct timespec time = {0};
	clockid_t clock;

	if (pthread_getcpuclockid(worker->thread, &clock) == 0)
		clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * CLOCK_NS_PER_S + (uint64_t)time.tv_nsec;
}

static void on_meter(struct ev_loop *, ev_timer *meter, int)
{
	struct http_workers *workers = meter->data;
	struct http_worker *worker, *next;

	for (worker = workers->busy; worker; worker = next) {
		next = worker->next_busy;
		if (!worker->aborted && cpu_ns(worker) - worker->cpu_ns > HTTP_WORKER_CPU_MS * UINT64_C(1000000))
			workers->exhausted(worker);
	}
}

int http_workers_open(struct http_workers *to, struct ev_loop *loop)
{
	int error = pthread_mutex_init(&to->lock, NULL);

	if (error)
		return error;
	to->loop = loop;
	to->busy = to->done = NULL;
	ev_async_init(&to->wake, on_wake);
	ev_timer_init(&to->meter, on_meter, METER_S, METER_S);
	to->wake.data = to->meter.data = to;
	ev_async_start(loop, &to->wake);
	ev_timer_start(loop, &to->meter);
	return 0;
}

bool http_workers_close(struct http_workers *workers)
{
	for (unsigned ms = 0; workers->busy && ms < CLOSE_MS; ms++) {
		reap(workers);
		if (workers->busy)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	ev_async_stop(workers->loop, &workers->wake);
	ev_timer_stop(workers->loop, &workers->meter);
	if (workers->busy)
		return false;
	pthread_mutex_destroy(&workers->lock);
	return true;
}

/* libcurl calls this for each connection, in the worker's thread. */
static curl_socket_t open_socket(void *data, curlsocktype, struct curl_sockaddr *to)
{
	struct http_worker *worker = data;
	curl_socket_t opened = CURL_SOCKET_BAD;

	pthread_mutex_lock(&worker->lock);
	/* libcurl has given up an earlier connection of this transfer, and may still read from it. */
	if (worker->socket >= 0)
		shutdown(worker->socket, SHUT_RDWR);
	if (!worker->aborted)
		opened = worker->socket = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	if (opened < 0)
		worker->error = errno;
	pthread_mutex_unlock(&worker->lock);
	return opened;
}

static int close_socket(void *data, curl_socket_t fd)
{
	struct http_worker *worker = data;

	pthread_mutex_lock(&worker->lock);
	if (worker->socket == fd)
		worker->socket = -1;
	close(fd);
	pthread_mutex_unlock(&worker->lock);
	return 0;
}

/* Signals are for the thread of the event loop. */
static int start_thread(struct http_worker *worker)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error = pthread_attr_init(&attributes);

	if (error)
		return error;
	pthread_attr_setstacksize(&attributes, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&worker->thread, &attributes, http_worker_thread, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (!error)
		pthread_setname_np(worker->thread, "http check");
	return error;
}

int http_worker_open(struct http_worker *to, struct http_workers *workers)
{
	int error;

	*to = (struct http_worker){.workers = workers, .easy = curl_easy_init(), .socket = -1};
	if (!to->easy)
		return ENOMEM;
	sem_init(&to->work, 0, 0);
	pthread_mutex_init(&to->lock, NULL);
	error = start_thread(to);
	if (error)
		curl_easy_cleanup(to->easy);
	return error;
}

void http_worker_set(struct http_worker *worker)
{
	curl_easy_setopt(worker->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(worker->easy, CURLOPT_OPENSOCKETDATA, worker);
	curl_easy_setopt(worker->easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
	curl_easy_setopt(worker->easy, CURLOPT_CLOSESOCKETDATA, worker);
}

void http_worker_run(struct http_worker *worker)
{
	worker->aborted = false;
	worker->error = 0;
	worker->cpu_ns = cpu_ns(worker);
	join_busy(worker);
	sem_post(&worker->work);
}

void http_worker_abort(struct http_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	worker->aborted = true;
	if (worker->socket >= 0)
		shutdown(worker->socket, SHUT_RDWR);
	pthread_mutex_unlock(&worker->lock);
}

void http_worker_close(struct http_worker *worker)
{
	worker->closing = true;
	sem_post(&worker->work);
	pthread_join(worker->thread, NULL);
	curl_easy_cleanup(worker->easy);
	sem_destroy(&worker->work);
	pthread_mutex_destroy(&worker->lock);
}
