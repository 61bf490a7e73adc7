/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/http/http_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/text.h"
#include "program/http/http_host.h"
#include "program/sockaddr.h"

enum {
	/* If more clients are connected, those that wait the longest for nothing are disconnected. */
	CLIENTS_MAX = 32,
	/* Also those that are being disconnected. */
	CONNECTIONS_MAX = 64,
	/* Connections that one run accepts. */
	ACCEPT_MAX = 16,
	/* glb-redirect check warns about less, also for the port of its own exporter. */
	BACKLOG = 128,
	/* If there are no file descriptors left. */
	PAUSE_MS = 1000,
	/* A client that sends and takes nothing for this time is disconnected. */
	CONNECTION_TIMEOUT_S = 10,
	/* A piece of a page ends when it has this many bytes. */
	PIECE_SIZE = 16384,
	/* Bytes that are sent at once. */
	BLOCK_SIZE = 32768,
	/* Bytes that the kernel keeps for a client that does not read them. */
	SEND_BUFFER = 65536,
	NOT_FOUND_SIZE = 512,
};

struct client {
	/* Towards newer clients. */
	struct client *next;
	int fd;
	/* It asked for a page. */
	bool served;
	bool disconnected;
};

struct clients {
	/* Oldest first. The number does not include those that are being disconnected. */
	struct client *first;
	unsigned count;
};

/* The oldest client that has not asked for a page yet, or else the oldest. */
static void disconnect_one(struct clients *clients)
{
	struct client *oldest = NULL;

	for (struct client *client = clients->first; client; client = client->next)
		if (!client->disconnected && (!oldest || (oldest->served && !client->served)))
			oldest = client;
	if (!oldest)
		return;
	oldest->disconnected = true;
	clients->count--;
	shutdown(oldest->fd, SHUT_RDWR);
}

/* Adds a client. Before, disconnects another one if there are too many. NULL: out of memory. */
static struct client *add_client(struct clients *clients, int fd)
{
	struct client *client = calloc(1, sizeof(*client)), **at = &clients->first;

	if (!client)
		return NULL;
	if (clients->count >= CLIENTS_MAX)
		disconnect_one(clients);
	while (*at)
		at = &(*at)->next;
	client->fd = fd;
	*at = client;
	clients->count++;
	return client;
}

/* Frees the client. NULL: does nothing. */
static void remove_client(struct clients *clients, struct client *client)
{
	struct client **at = &clients->first;

	while (*at && *at != client)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = client->next;
	clients->count -= !client->disconnected;
	free(client);
}

#define WRONG_HOST \
	"refused: this server listens on a loopback address and serves no other host; use http://localhost:PORT/ or the IP address\n"

struct http_server {
	struct MHD_Daemon *daemon;
	const struct http_route *routes;
	void *context;
	/* Only requests for this machine are served. */
	bool is_local;
	struct clients clients;
	/* Readable when `listener` or the daemon is. */
	int epoll;
	int listener;
	/* The listener is not watched, because there were no file descriptors left. */
	bool paused;
};

/* A page that is being written. */
struct page {
	const struct http_route *route;
	enum http_more more;
	/* The piece, and how much of it was sent. */
	char *text;
	size_t size, sent;
	char state[] __attribute__((aligned(16)));
};

static void on_connection(
	void *data, struct MHD_Connection *connection, void **context, enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http_server *server = data;

	if (what != MHD_CONNECTION_NOTIFY_STARTED)
		remove_client(&server->clients, *context);
	else if (info)
		*context = add_client(&server->clients, info->connect_fd);
}

static enum MHD_Result respond(
	struct MHD_Connection *connection, unsigned code, const char *type, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	/* An idle connection would take the place of another client. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result respond_text(struct MHD_Connection *connection, unsigned code, const char *text)
{
	return respond(connection, code, "text/plain; charset=utf-8",
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result respond_not_found(struct MHD_Connection *connection, const struct http_route *routes)
{
	char text[NOT_FOUND_SIZE] = "There is no such page. The pages are:\n";

	for (const struct http_route *route = routes; route->path; route++) {
		int stem = (int)strcspn(route->path, "#");
		size_t size = strlen(text);

		if (!route->accept)
			snprintf(text + size, sizeof(text) - size, "%.*s%s\n", stem, route->path,
				route->path[stem] ? "N (N is the number of a table; the first table is 0)" : "");
	}
	return respond_text(connection, MHD_HTTP_NOT_FOUND, text);
}

/* Writes the next piece. False: out of memory. */
static bool fill(struct page *page)
{
	FILE *to;

	free(page->text);
	page->text = NULL;
	page->size = page->sent = 0;
	to = open_memstream(&page->text, &page->size);
	if (!to)
		return false;
	while (page->more == HTTP_MORE && ftell(to) < PIECE_SIZE)
		page->more = page->route->write(page->state, to);
	return fclose(to) == 0;
}

static ssize_t read_page(void *data, uint64_t, char *to, size_t size)
{
	struct page *page = data;

	if (page->sent == page->size && page->more == HTTP_MORE && !fill(page))
		page->more = HTTP_ABORT;
	if (page->more == HTTP_ABORT)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (page->sent == page->size)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (size > page->size - page->sent)
		size = page->size - page->sent;
	memcpy(to, page->text + page->sent, size);
	page->sent += size;
	return (ssize_t)size;
}

static void close_page(void *data)
{
	struct page *page = data;

	if (page->route->end)
		page->route->end(page->state);
	free(page->text);
	free(page);
}

/* Adds what keeps other web sites away from a page for browsers. */
static void add_policy(struct MHD_Response *response, const char *policy)
{
	MHD_add_response_header(response, "Content-Security-Policy", policy);
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
}

static enum MHD_Result respond_page(const struct http_server *server, struct MHD_Connection *connection,
	const struct http_route *route, uint32_t number)
{
	struct page *page = calloc(1, sizeof(*page) + route->state_size);
	struct MHD_Response *response;

	if (!page || !route->begin(page->state, server->context, number)) {
		bool unknown = page && strchr(route->path, '#');

		free(page);
		return unknown ? respond_text(connection, MHD_HTTP_NOT_FOUND,
					 "not found: there is no page with this number\n")
			       : respond_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	}
	page->route = route;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_page, page, close_page);
	if (!response) {
		close_page(page);
		return respond_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	}
	if (route->policy)
		add_policy(response, route->policy);
	MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	return respond(connection, MHD_HTTP_OK, route->type, response);
}

static bool path_matches(const struct http_route *route, const char *path, uint32_t *number)
{
	size_t size = strlen(route->path);

	*number = route->number;
	if (!strchr(route->path, '#'))
		return strcmp(route->path, path) == 0;
	return strncmp(route->path, path, size - 1) == 0 && text_number(path + size - 1, 0, HTTP_NO_NUMBER - 1, number);
}

static const struct http_route *find_route(
	const struct http_route *routes, struct MHD_Connection *connection, const char *path, uint32_t *number)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);

	for (const struct http_route *route = routes; route->path; route++)
		if (path_matches(route, path, number) && (!route->accept || (accept && strstr(accept, route->accept))))
			return route;
	return NULL;
}

static enum MHD_Result handle_request(void *data, struct MHD_Connection *connection, const char *url,
	const char *method, const char *, const char *, size_t *, void **)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct http_server *server = data;
	struct client *client = info ? info->socket_context : NULL;
	const struct http_route *route;
	uint32_t number = 0;

	if (client)
		client->served = true;
	/* HEAD gets the response of GET. The library leaves the body out. */
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return respond_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n");
	if (server->is_local &&
		!http_host_is_local(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
		return respond_text(connection, MHD_HTTP_MISDIRECTED_REQUEST, WRONG_HOST);
	route = find_route(server->routes, connection, url, &number);
	return route ? respond_page(server, connection, route, number) : respond_not_found(connection, server->routes);
}

static bool watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Returns 0, or why the last client could not be accepted; EAGAIN: none waits. */
static int accept_clients(struct http_server *server)
{
	for (unsigned i = 0; i < ACCEPT_MAX; i++) {
		union sockaddr_any address;
		socklen_t size = sizeof(address);
		int fd = accept4(server->listener, &address.sa, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			MHD_add_connection(server->daemon, fd, &address.sa, size);
		else if (errno != ECONNABORTED && errno != EINTR)
			return errno;
	}
	return 0;
}

/*
 * Accepts what waits. Without a free file descriptor the clients stay in the queue, and would wake the caller for ever.
 * So the listener is not watched then for a while.
 */
static void take_clients(struct http_server *server)
{
	int error = accept_clients(server);
	bool pause = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;

	if (pause && !server->paused)
		epoll_ctl(server->epoll, EPOLL_CTL_DEL, server->listener, NULL);
	else if (!pause && server->paused)
		watch(server->epoll, server->listener);
	server->paused = pause;
}

int http_server_run(struct http_server *server)
{
	int longest_ms = INT32_MAX;
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	take_clients(server);
	MHD_run(server->daemon);
	if (server->paused)
		longest_ms = PAUSE_MS;
	if (MHD_get_timeout(server->daemon, &timeout_ms) != MHD_YES)
		return server->paused ? longest_ms : -1;
	return timeout_ms < (unsigned)longest_ms ? (int)timeout_ms : longest_ms;
}

int http_server_descriptor(const struct http_server *server)
{
	return server->epoll;
}

static int listen_on(const struct netaddr *address, uint16_t port)
{
	union sockaddr_any to;
	socklen_t size = sockaddr_fill(&to, address, port);
	int fd = socket(to.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, buffer = SEND_BUFFER, error;

	if (fd < 0)
		return -errno;
	/* After a restart, old connections in TIME_WAIT must not keep the address. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	if (to.sa.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, &to.sa, size) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* Returns 0 or -errno. */
static int open_all(struct http_server *server, const struct netaddr *address, uint16_t port)
{
	const union MHD_DaemonInfo *info = NULL;

	server->listener = listen_on(address, port);
	if (server->listener < 0)
		return server->listener;
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll < 0)
		return -errno;
	server->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handle_request,
		server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)CONNECTION_TIMEOUT_S, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_END);
	info = server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info)
		return errno ? -errno : -ENOMEM;
	return watch(server->epoll, server->listener) && watch(server->epoll, info->epoll_fd) ? 0 : -errno;
}

int http_server_open(struct http_server **server, const struct netaddr *address, uint16_t port,
	const struct http_route *routes, void *context)
{
	struct http_server *made = calloc(1, sizeof(*made));
	int error;

	*server = NULL;
	if (!made)
		return -ENOMEM;
	*made = (struct http_server){.routes = routes,
		.context = context,
		.epoll = -1,
		.listener = -1,
		.is_local = http_host_is_loopback(address)};
	error = open_all(made, address, port);
	if (error)
		http_server_close(made);
	else
		*server = made;
	return error;
}

void http_server_close(struct http_server *server)
{
	if (!server)
		return;
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	if (server->listener >= 0)
		close(server->listener);
	if (server->epoll >= 0)
		close(server->epoll);
	free(server);
}
