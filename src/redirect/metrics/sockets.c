/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/metrics/sockets.h"

#include <stdlib.h>

#include "redirect/host/diag.h"
#include "redirect/kernel/served.h"

#define AT(member) OPENMETRICS_GAUGE, FACTS_AT(struct sockets_listener, member)

const struct fact sockets_listener_facts[] = {
	{"listener_sockets", NULL, AT(sockets), "listening TCP sockets that serve a VIP"},
	{"listener_full_sockets", NULL, AT(full),
		"those of them whose accept queue is full, so that the kernel drops new connections"},
	{"listener_queue_connections", NULL, AT(waiting), "connections that wait for accept()"},
	{"listener_queue_limit", NULL, AT(backlog), "connections that may wait for accept()"},
	{"listener_queue_used_ratio", NULL, AT(used),
		"how full the fullest accept queue of these sockets is; 1: it takes no connection"},
	{0},
};

static bool serves_a_vip(const struct diag_socket *socket, const struct vips *vips)
{
	return diag_is_any(socket) || vips_find(vips, &socket->address);
}

/* Returns the entry of the socket's address and port, a new one if there is none, or NULL if there is no room. */
static struct sockets_listener *listener_of(struct sockets *sockets, const struct diag_socket *socket)
{
	struct sockets_listener *listener = sockets->listeners, *end = listener + sockets->listener_count;

	while (listener < end &&
		(listener->port != socket->port || netaddr_compare(&listener->address, &socket->address) != 0))
		listener++;
	if (listener < end)
		return listener;
	if (sockets->listener_count == SOCKETS_MAX_LISTENERS)
		return NULL;
	sockets->listener_count++;
	*listener = (struct sockets_listener){.address = socket->address, .port = socket->port, .v6only = true};
	return listener;
}

static void add_listener(struct sockets *sockets, const struct diag_socket *socket)
{
	struct sockets_listener *listener = listener_of(sockets, socket);
	double used;

	if (!listener)
		return;
	listener->v6only &= socket->v6only;
	listener->sockets++;
	listener->full += diag_is_full(socket);
	listener->waiting += socket->waiting;
	listener->backlog += socket->backlog;
	used = socket->waiting / (socket->backlog + 1.0);
	if (used > listener->used)
		listener->used = used;
}

static int read_listeners(struct sockets *sockets)
{
	struct diag_sockets all;
	int error = diag_read_listeners(&all);

	for (size_t i = 0; i < all.count && !error; i++)
		if (serves_a_vip(&all.items[i], &sockets->vips))
			add_listener(sockets, &all.items[i]);
	diag_free(&all);
	return error;
}

static int compare_services(const void *one, const void *other)
{
	const struct sockets_service *a = one, *b = other;

	if (a->vip != b->vip)
		return a->vip < b->vip ? -1 : 1;
	return (a->port > b->port) - (a->port < b->port);
}

static struct sockets_service *service_of(struct sockets *sockets, size_t vip, uint16_t port)
{
	struct sockets_service wanted = {.vip = vip, .port = port};

	return bsearch(&wanted, sockets->services, sockets->service_count, sizeof(wanted), compare_services);
}

static bool serves(const struct sockets_listener *listener, const struct netprefix *vip)
{
	const struct diag_socket socket = {.address = listener->address, .v6only = listener->v6only};

	return diag_serves(&socket, vip);
}

/* Removes duplicates, as of a socket for any address and one for the VIP. */
static void sort_services(struct sockets *sockets)
{
	struct sockets_service *services = sockets->services;
	size_t kept = 0;

	qsort(services, sockets->service_count, sizeof(*services), compare_services);
	for (size_t i = 0; i < sockets->service_count; i++)
		if (!kept || compare_services(&services[kept - 1], &services[i]) != 0)
			services[kept++] = services[i];
	sockets->service_count = kept;
}

static void make_services(struct sockets *sockets)
{
	for (size_t vip = 0; vip < sockets->vips.count; vip++)
		for (size_t i = 0; i < sockets->listener_count; i++)
			if (sockets->service_count < SOCKETS_MAX_SERVICES &&
				serves(&sockets->listeners[i], &sockets->vips.items[vip]))
				sockets->services[sockets->service_count++] =
					(struct sockets_service){.vip = vip, .port = sockets->listeners[i].port};
	sort_services(sockets);
}

#define REMEMBERED 1024 /* a power of two */

struct counting {
	struct sockets *sockets;
	/* The result of vips_find() for some addresses, because a million connections have few local addresses. */
	struct {
		struct netaddr address;
		const struct netprefix *vip;
	} remembered[REMEMBERED];
};

static const struct netprefix *find_vip(struct counting *counting, const struct netaddr *address)
{
	const uint8_t *end = address->bytes + netaddr_size(address);
	unsigned slot = (end[-2] << 8 | end[-1]) % REMEMBERED;

	if (netaddr_compare(&counting->remembered[slot].address, address) != 0) {
		counting->remembered[slot].address = *address;
		counting->remembered[slot].vip = vips_find(&counting->sockets->vips, address);
	}
	return counting->remembered[slot].vip;
}

static void count_connection(const struct diag_open *open, void *data)
{
	struct counting *counting = data;
	struct sockets *sockets = counting->sockets;
	const struct netprefix *found = find_vip(counting, &open->local);
	struct sockets_service *service;
	size_t vip;

	if (!found)
		return;
	vip = (size_t)(found - sockets->vips.items);
	if (open->udp)
		sockets->open_udp[vip]++;
	else
		sockets->open_tcp[vip]++;
	if (!open->established)
		return;
	service = service_of(sockets, vip, open->port);
	if (service)
		service->connections++;
	else
		sockets->other[vip]++;
}

void sockets_read(struct sockets *sockets)
{
	struct counting counting = {.sockets = sockets};

	*sockets = (struct sockets){0};
	sockets->error = served_read(&sockets->vips);
	if (!sockets->error)
		sockets->error = read_listeners(sockets);
	make_services(sockets);
	if (!sockets->error)
		sockets->error = diag_each_open(count_connection, &counting, false);
}
