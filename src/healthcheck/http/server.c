/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "healthcheck/checks/sockaddr.h"
#include "healthcheck/http/status.h"

enum {
	MAX_CONNECTIONS = 16,
	CONNECTION_TIMEOUT_S = 10,
};

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned code, const char *type, char *text)
{
	static const char empty[] = "out of memory\n";
	struct MHD_Response *response =
		text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE)
		     : MHD_create_response_from_buffer(sizeof(empty) - 1, (void *)empty, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	result = MHD_queue_response(connection, text ? code : MHD_HTTP_INTERNAL_SERVER_ERROR, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result handle_request(void *data, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size, void **state)
{
	const struct monitor *monitor = data;

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)state;
	/* HEAD gets the response of GET. The library leaves the body out. */
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain",
			strdup("only GET and HEAD are allowed\n"));
	if (strcmp(url, "/status") == 0)
		return respond(connection, MHD_HTTP_OK, "application/json", status_json(monitor));
	if (strcmp(url, "/metrics") == 0)
		return respond(connection, MHD_HTTP_OK, "application/openmetrics-text; version=1.0.0; charset=utf-8",
			status_metrics(monitor));
	return respond(
		connection, MHD_HTTP_NOT_FOUND, "text/plain", strdup("not found; there are /status and /metrics\n"));
}

static void run(struct server *server)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	MHD_run(server->daemon);
	ev_timer_stop(server->loop, &server->timer);
	if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES) {
		ev_timer_set(&server->timer, (double)timeout_ms / 1e3, 0);
		ev_timer_start(server->loop, &server->timer);
	}
}

static void on_io(struct ev_loop *loop, ev_io *io, int events)
{
	(void)loop;
	(void)events;
	run(io->data);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	run(timer->data);
}

int server_open(struct server *server, struct monitor *monitor, struct faults *faults)
{
	const struct conf *conf = monitor->conf;
	const union MHD_DaemonInfo *info;
	union sockaddr_any address;
	unsigned flags = MHD_USE_EPOLL;

	*server = (struct server){.loop = monitor->loop};
	sockaddr_fill(&address, &conf->listen_ip, conf->listen_port);
	if (conf->listen_ip.family == NETADDR_V6)
		flags |= MHD_USE_IPv6;
	server->daemon = MHD_start_daemon(flags, conf->listen_port, NULL, NULL, handle_request, monitor,
		MHD_OPTION_SOCK_ADDR, &address.sa, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_TIMEOUT_S, MHD_OPTION_END);
	info = server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		char ip[NETADDR_TEXT_MAX];
		int error = errno ? errno : EIO;

		faults_error(faults, "listen", "cannot serve on %s port %u: %s", netaddr_format(&conf->listen_ip, ip),
			conf->listen_port, strerror(error));
		server_close(server);
		return -error;
	}
	ev_io_init(&server->io, on_io, info->epoll_fd, EV_READ);
	ev_timer_init(&server->timer, on_timer, 0, 0);
	server->io.data = server->timer.data = server;
	ev_io_start(server->loop, &server->io);
	return 0;
}

void server_close(struct server *server)
{
	if (!server->daemon)
		return;
	ev_io_stop(server->loop, &server->io);
	ev_timer_stop(server->loop, &server->timer);
	MHD_stop_daemon(server->daemon);
	server->daemon = NULL;
}
