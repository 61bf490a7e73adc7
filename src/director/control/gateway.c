/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/gateway.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "director/control/neighbour.h"
#include "program/log.h"

#define CONFIRM_TICKS 30 /* so that the kernel notices a gateway that changed its MAC without announcing it */

struct gateway {
	struct mnl_socket *requests, *events;
	uint64_t *mac; /* gateway_open() says what it is */
	uint32_t source, destination; /* network order */
	struct next_hop next_hop; /* its address is 0: no route is known */
	bool resolved; /* *mac is what the kernel knows now */
	bool warned; /* the log already says that there is no route, or that the next hop does not reply */
	unsigned ticks; /* since the last request */
};

const char *gateway_format(uint64_t mac, char buf[18])
{
	const uint8_t *bytes = (const uint8_t *)&mac;

	if (mac)
		snprintf(buf, 18, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4],
			bytes[5]);
	else
		strcpy(buf, "unknown");
	return buf;
}

static const char *format_address(uint32_t address, char buf[INET_ADDRSTRLEN])
{
	return inet_ntop(AF_INET, &address, buf, INET_ADDRSTRLEN);
}

static const char *format_next_hop(const struct next_hop *hop, char buf[64])
{
	char address[INET_ADDRSTRLEN], interface[IF_NAMESIZE];

	snprintf(buf, 64, "%s on %s", format_address(hop->address, address),
		if_indextoname(hop->interface, interface) ? interface : "a removed interface");
	return buf;
}

static void take_mac(struct gateway *gateway, uint64_t mac)
{
	uint64_t old = *gateway->mac;
	char next_hop[64], old_text[18], new_text[18];

	gateway->resolved = mac != 0;
	if (!mac && !gateway->warned) {
		if (old)
			log_warning(
				"gateway %s: the kernel does not reach it any more: packets still go to its last MAC %s",
				format_next_hop(&gateway->next_hop, next_hop), gateway_format(old, old_text));
		else
			log_warning("gateway %s: the kernel does not reach it: packets are dropped until its MAC is known",
				format_next_hop(&gateway->next_hop, next_hop));
		gateway->warned = true;
	}
	if (!mac)
		return;
	gateway->warned = false;
	if (mac == old)
		return;
	__atomic_store_n(gateway->mac, mac, __ATOMIC_RELAXED);
	log_notice("gateway %s: MAC %s -> %s", format_next_hop(&gateway->next_hop, next_hop),
		gateway_format(old, old_text), gateway_format(mac, new_text));
}

static void probe(struct gateway *gateway)
{
	gateway->ticks = 0;
	neighbour_probe(gateway->requests, &gateway->next_hop);
}

/* Looks up the route, then the MAC of its next hop. */
static void resolve(struct gateway *gateway)
{
	struct next_hop hop;
	char text[INET_ADDRSTRLEN];
	uint64_t mac;
	int error;

	gateway->resolved = false;
	gateway->ticks = 0;
	if (!gateway->destination)
		return;
	error = neighbour_route(gateway->requests, gateway->source, gateway->destination, &hop);
	if (error) {
		if (!gateway->warned)
			log_warning(
				"outbound_gateway_mac = \"auto\": the kernel has no route to proxy %s through an IPv4 next hop (%s): add a route, or configure the MAC",
				format_address(gateway->destination, text), strerror(-error));
		gateway->warned = true;
		gateway->next_hop = (struct next_hop){0};
		return;
	}
	if (memcmp(&hop, &gateway->next_hop, sizeof(hop)) != 0)
		gateway->warned = false;
	gateway->next_hop = hop;
	if (neighbour_find(gateway->requests, &hop, &mac) == 0)
		take_mac(gateway, mac);
	else
		probe(gateway);
}

void gateway_follow(struct gateway *gateway, uint32_t destination)
{
	gateway->destination = destination;
	resolve(gateway);
}

void gateway_tick(struct gateway *gateway)
{
	gateway->ticks++;
	if (!gateway->resolved)
		resolve(gateway);
	else if (gateway->ticks >= CONFIRM_TICKS)
		probe(gateway);
}

static int take_event(const struct nlmsghdr *message, void *context)
{
	struct gateway *gateway = context;
	uint64_t mac;

	bool ours = neighbour_event(message, &gateway->next_hop, &mac);

	if (ours && message->nlmsg_type == RTM_NEWNEIGH)
		take_mac(gateway, mac);
	else if (ours || message->nlmsg_type == RTM_NEWROUTE || message->nlmsg_type == RTM_DELROUTE)
		gateway->resolved = false; /* the neighbour entry is gone, or the route may have changed: look up again */
	return MNL_CB_OK;
}

void gateway_read(struct gateway *gateway)
{
	char buf[16384];
	bool lost = false, before = gateway->resolved;
	ssize_t size;

	for (;;) {
		size = recv(mnl_socket_get_fd(gateway->events), buf, sizeof(buf), MSG_DONTWAIT);
		if (size < 0 && errno == ENOBUFS)
			lost = true; /* there were more events than the socket can hold: look up again */
		else if (size <= 0)
			break;
		else
			mnl_cb_run(buf, (size_t)size, 0, 0, take_event, gateway);
	}
	if (lost || (before && !gateway->resolved))
		resolve(gateway);
}

int gateway_descriptor(const struct gateway *gateway)
{
	return mnl_socket_get_fd(gateway->events);
}

static struct mnl_socket *open_socket(unsigned groups)
{
	struct mnl_socket *socket = mnl_socket_open(NETLINK_ROUTE);

	if (socket && mnl_socket_bind(socket, groups, MNL_SOCKET_AUTOPID) < 0) {
		mnl_socket_close(socket);
		return NULL;
	}
	return socket;
}

struct gateway *gateway_open(uint32_t source, uint64_t *mac)
{
	struct gateway *gateway = calloc(1, sizeof(*gateway));

	if (gateway) {
		gateway->source = source;
		gateway->mac = mac;
		gateway->requests = open_socket(0);
		gateway->events = open_socket(RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE);
	}
	if (!gateway || !gateway->requests || !gateway->events) {
		log_error("outbound_gateway_mac = \"auto\": cannot open a netlink socket: %s", strerror(errno));
		gateway_close(gateway);
		return NULL;
	}
	return gateway;
}

void gateway_close(struct gateway *gateway)
{
	if (!gateway)
		return;
	if (gateway->requests)
		mnl_socket_close(gateway->requests);
	if (gateway->events)
		mnl_socket_close(gateway->events);
	free(gateway);
}
