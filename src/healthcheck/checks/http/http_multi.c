/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/http/http_multi.h"

#include <stdlib.h>

#include "healthcheck/checks/http/http_tls.h"

/* A socket that curl uses, in the event loop. */
struct watched {
	ev_io io;
	struct http_multi *multi;
};

/* Reports all transfers that have ended. */
static void reap(struct http_multi *multi)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(multi->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			multi->ended(message->easy_handle, message->data.result);
}

static void act(struct http_multi *multi, curl_socket_t fd, int events)
{
	int running;

	http_tls_lend(true);
	curl_multi_socket_action(multi->multi, fd, events, &running);
	http_tls_lend(false);
	reap(multi);
}

static void on_socket(struct ev_loop *loop, ev_io *io, int events)
{
	struct watched *watch = io->data;

	(void)loop;
	act(watch->multi, io->fd, (events & EV_READ ? CURL_CSELECT_IN : 0) | (events & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* curl calls this to have a socket watched for `what` (CURL_POLL_*). */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *assigned)
{
	struct http_multi *multi = data;
	struct watched *watch = assigned;
	int events = (what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0);

	(void)easy;
	if (watch)
		ev_io_stop(multi->loop, &watch->io);
	if (what == CURL_POLL_REMOVE) {
		curl_multi_assign(multi->multi, fd, NULL);
		free(watch);
		return 0;
	}
	if (!watch) {
		watch = calloc(1, sizeof(*watch));
		if (!watch)
			return -1;
		watch->multi = multi;
		curl_multi_assign(multi->multi, fd, watch);
	}
	ev_io_init(&watch->io, on_socket, fd, events);
	watch->io.data = watch;
	ev_io_start(multi->loop, &watch->io);
	return 0;
}

/*
 * curl calls this to set its timer, or with -1 to stop it. No function of curl's multi handle may be called from here.
 */
static int set_timer(CURLM *handle, long timeout_ms, void *data)
{
	struct http_multi *multi = data;

	(void)handle;
	ev_timer_stop(multi->loop, &multi->timer);
	if (timeout_ms >= 0) {
		ev_timer_set(&multi->timer, (double)timeout_ms / 1e3, 0);
		ev_timer_start(multi->loop, &multi->timer);
	}
	return 0;
}

bool http_multi_open(struct http_multi *to, struct ev_loop *loop, void (*ended)(CURL *easy, CURLcode code))
{
	*to = (struct http_multi){.loop = loop, .multi = curl_multi_init(), .ended = ended};
	if (!to->multi)
		return false;
	ev_timer_init(&to->timer, on_timer, 0, 0);
	to->timer.data = to;
	curl_multi_setopt(to->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	curl_multi_setopt(to->multi, CURLMOPT_SOCKETDATA, to);
	curl_multi_setopt(to->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(to->multi, CURLMOPT_TIMERDATA, to);
	return true;
}

void http_multi_close(struct http_multi *multi)
{
	curl_multi_cleanup(multi->multi);
	ev_timer_stop(multi->loop, &multi->timer);
}
