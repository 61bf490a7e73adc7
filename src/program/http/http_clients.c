/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/http/http_clients.h"

#include <stdlib.h>
#include <sys/socket.h>

enum {
	/* If more clients are connected, those that wait the longest for nothing are disconnected. */
	HTTP_CLIENTS_MAX = 32,
};

/* The oldest client that has not asked for a page yet, or else the oldest. */
static void disconnect_one(struct http_clients *clients)
{
	struct http_client *oldest = NULL;

	for (struct http_client *client = clients->first; client; client = client->next)
		if (!client->disconnected && (!oldest || (oldest->served && !client->served)))
			oldest = client;
	if (!oldest)
		return;
	oldest->disconnected = true;
	clients->count--;
	shutdown(oldest->fd, SHUT_RDWR);
}

struct http_client *http_clients_add(struct http_clients *clients, int fd)
{
	struct http_client *client = calloc(1, sizeof(*client)), **at = &clients->first;

	if (!client)
		return NULL;
	if (clients->count >= HTTP_CLIENTS_MAX)
		disconnect_one(clients);
	while (*at)
		at = &(*at)->next;
	client->fd = fd;
	*at = client;
	clients->count++;
	return client;
}

void http_clients_remove(struct http_clients *clients, struct http_client *client)
{
	struct http_client **at = &clients->first;

	while (*at && *at != client)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = client->next;
	clients->count -= !client->disconnected;
	free(client);
}
