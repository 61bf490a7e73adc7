/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "healthcheck/checks/sockaddr.h"
#include "healthcheck/http/page.h"

enum {
	/* If more clients are connected, those that wait the longest for nothing are disconnected. */
	CLIENTS_MAX = 32,
	/* Room for clients that are being disconnected. */
	CONNECTIONS_MAX = 64,
	CONNECTION_TIMEOUT_S = 10,
	/* Bytes that are sent at once. */
	BLOCK_SIZE = 32768,
};

struct client {
	/* Towards newer clients. */
	struct client *next;
	int fd;
	/* It asked for a page. */
	bool served, disconnected;
};

static void disconnect_one(struct server *server)
{
	struct client *oldest = NULL;

	for (struct client *client = server->clients; client; client = client->next)
		if (!client->disconnected && (!oldest || (oldest->served && !client->served)))
			oldest = client;
	if (!oldest)
		return;
	oldest->disconnected = true;
	server->client_count--;
	shutdown(oldest->fd, SHUT_RDWR);
}

static void add_client(struct server *server, struct MHD_Connection *connection, void **context)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct client *client = calloc(1, sizeof(*client)), **at = &server->clients;

	if (!client || !info) {
		free(client);
		return;
	}
	if (server->client_count >= CLIENTS_MAX)
		disconnect_one(server);
	while (*at)
		at = &(*at)->next;
	client->fd = info->connect_fd;
	*at = *context = client;
	server->client_count++;
}

static void remove_client(struct server *server, struct client *client)
{
	struct client **at = &server->clients;

	while (*at && *at != client)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = client->next;
	server->client_count -= !client->disconnected;
	free(client);
}

static void on_connection(
	void *data, struct MHD_Connection *connection, void **context, enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		add_client(data, connection, context);
	else
		remove_client(data, *context);
}

static enum MHD_Result respond(
	struct MHD_Connection *connection, unsigned code, const char *type, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	/* An idle connection would take the place of another client. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result respond_text(struct MHD_Connection *connection, unsigned code, const char *text)
{
	return respond(connection, code, "text/plain",
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT));
}

static ssize_t read_page(void *data, uint64_t position, char *to, size_t size)
{
	ssize_t got = page_read(data, to, size);

	(void)position;
	if (got < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	return got ? got : MHD_CONTENT_READER_END_OF_STREAM;
}

static void close_page(void *data)
{
	page_close(data);
}

static enum MHD_Result respond_page(struct MHD_Connection *connection, const struct monitor *monitor,
	const struct page_section *sections, const char *type)
{
	struct page *page = page_open(monitor, sections);
	struct MHD_Response *response =
		page ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_page, page, close_page)
		     : NULL;

	if (response)
		return respond(connection, MHD_HTTP_OK, type, response);
	if (page)
		page_close(page);
	return respond_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
}

static enum MHD_Result handle_request(void *data, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size, void **state)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct server *server = data;
	struct client *client = info ? info->socket_context : NULL;

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)state;
	if (client)
		client->served = true;
	/* HEAD gets the response of GET. The library leaves the body out. */
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return respond_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n");
	if (strcmp(url, "/status") == 0)
		return respond_page(connection, server->monitor, page_status, "application/json");
	if (strcmp(url, "/metrics") == 0)
		return respond_page(connection, server->monitor, page_metrics,
			"application/openmetrics-text; version=1.0.0; charset=utf-8");
	return respond_text(connection, MHD_HTTP_NOT_FOUND, "not found; there are /status and /metrics\n");
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

	*server = (struct server){.loop = monitor->loop, .monitor = monitor};
	sockaddr_fill(&address, &conf->listen_ip, conf->listen_port);
	if (conf->listen_ip.family == NETADDR_V6)
		flags |= MHD_USE_IPv6;
	server->daemon = MHD_start_daemon(flags, conf->listen_port, NULL, NULL, handle_request, server,
		MHD_OPTION_SOCK_ADDR, &address.sa, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_TIMEOUT_S, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, server, MHD_OPTION_END);
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
