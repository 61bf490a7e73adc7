/* SPDX-License-Identifier: BSD-3-Clause */
/* The clients that are connected to an HTTP server, and which of them must go if there are too many. One thread. */
#pragma once

#include <stdbool.h>

struct http_client {
	/* Towards newer clients. */
	struct http_client *next;
	int fd;
	/* It asked for a page. */
	bool served;
	bool disconnected;
};

struct http_clients {
	/* Oldest first. The number does not include those that are being disconnected. */
	struct http_client *first;
	unsigned count;
};

/* Adds a client. Before, disconnects another one if there are 32. NULL: out of memory. */
struct http_client *http_clients_add(struct http_clients *clients, int fd);

/* Frees the client. NULL: does nothing. */
void http_clients_remove(struct http_clients *clients, struct http_client *client);
