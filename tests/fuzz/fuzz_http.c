/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends any bytes over a connection to an HTTP server of our programs, in two pieces, and reads what it says: nothing, or a
 * reply of HTTP. Also reads them as the header Host.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program/http/http_host.h"
#include "program/http/http_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct http_server *server;
static struct sockaddr_in address = {.sin_family = AF_INET};

static bool begin(void *state, void *context, uint32_t number)
{
	(void)context;
	memcpy(state, &number, sizeof(number));
	return number < 8 || number == HTTP_NO_NUMBER;
}

static enum http_more write_page(void *state, FILE *to)
{
	uint32_t *number = state;

	fprintf(to, "%u\n", *number);
	return (*number)-- % 4 ? HTTP_MORE : HTTP_END;
}

static void open_server(void)
{
	static const struct http_route routes[] = {
		{.path = "/", .accept = "text/html", .type = "text/html", .state_size = 4, .begin = begin, .write = write_page},
		{.path = "/", .type = "text/plain", .state_size = 4, .begin = begin, .write = write_page, .number = 3},
		{.path = "/tables/#", .type = "text/plain", .state_size = 4, .begin = begin, .write = write_page},
		{0},
	};
	struct netaddr loopback = {NETADDR_V4, {127, 0, 0, 1}};
	uint16_t port = (uint16_t)(20000 + getpid() % 10000);

	while (http_server_open(&server, &loopback, ++port, routes, NULL) == -EADDRINUSE)
		;
	assert(server);
	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static void run(void)
{
	for (unsigned i = 0; i < 4; i++)
		http_server_run(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct linger reset = {1, 0}; /* without it, ports in TIME_WAIT would run out */
	char reply[4096], host[256];
	ssize_t bytes;
	size_t cut;
	int fd;

	if (!server)
		open_server();
	snprintf(host, sizeof(host), "%.*s", (int)size, (const char *)data);
	http_host_is_local(host);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (size == 0 || fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return 0;
	}
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	cut = data[0] < size ? data[0] : size;
	send(fd, data, cut, MSG_DONTWAIT | MSG_NOSIGNAL);
	run();
	send(fd, data + cut, size - cut, MSG_DONTWAIT | MSG_NOSIGNAL);
	run();
	bytes = recv(fd, reply, sizeof(reply), MSG_DONTWAIT);
	if (bytes > 0 && (bytes < 9 || memcmp(reply, "HTTP/1.", 7) != 0))
		abort();
	close(fd);
	run();
	return 0;
}
