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

#include "common/log.h"
#include "director/control/neighbour.h"

#define CONFIRM_TICKS 30 /* so that the kernel notices a router that changed its MAC without a word */

struct gateway {
	struct mnl_socket *questions, *events;
	uint64_t *mac;
	uint32_t source, destination;
	struct neighbour_hop hop; /* address 0: no route known */
	bool resolved; /* *mac is what the kernel says now */
	bool complained; /* about there being no route, or no answer of the neighbour */
	unsigned ticks; /* since the last question */
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

static const char *format_hop(const struct neighbour_hop *hop, char buf[64])
{
	char address[INET_ADDRSTRLEN], interface[IF_NAMESIZE];

	snprintf(buf, 64, "%s on %s", format_address(hop->address, address),
		if_indextoname(hop->interface, interface) ? interface : "an interface that is gone");
	return buf;
}

static void take_mac(struct gateway *gateway, uint64_t mac)
{
	uint64_t old = *gateway->mac;
	char hop[64], old_text[18], new_text[18];

	gateway->resolved = mac != 0;
	if (!mac && !gateway->complained) {
		if (old)
			log_warning("gateway %s: the kernel does not reach it any more: its last MAC %s stays in use",
				format_hop(&gateway->hop, hop), gateway_format(old, old_text));
		else
			log_warning("gateway %s: the kernel does not reach it: without its MAC no packet is sent",
				format_hop(&gateway->hop, hop));
		gateway->complained = true;
	}
	if (!mac)
		return;
	gateway->complained = false;
	if (mac == old)
		return;
	__atomic_store_n(gateway->mac, mac, __ATOMIC_RELAXED);
	log_notice("gateway %s: MAC %s -> %s", format_hop(&gateway->hop, hop), gateway_format(old, old_text),
		gateway_format(mac, new_text));
}

static void ask(struct gateway *gateway)
{
	gateway->ticks = 0;
	neighbour_ask(gateway->questions, &gateway->hop);
}

/* Route, then neighbour, from the start. */
static void resolve(struct gateway *gateway)
{
	struct neighbour_hop hop;
	char text[INET_ADDRSTRLEN];
	uint64_t mac;
	int error;

	gateway->resolved = false;
	gateway->ticks = 0;
	if (!gateway->destination)
		return;
	error = neighbour_route(gateway->questions, gateway->source, gateway->destination, &hop);
	if (error) {
		if (!gateway->complained)
			log_warning(
				"outbound_gateway_mac = \"auto\": the kernel has no route to proxy %s over an IPv4 neighbour (%s): add one, or name the MAC",
				format_address(gateway->destination, text), strerror(-error));
		gateway->complained = true;
		gateway->hop = (struct neighbour_hop){0};
		return;
	}
	if (memcmp(&hop, &gateway->hop, sizeof(hop)) != 0)
		gateway->complained = false;
	gateway->hop = hop;
	if (neighbour_find(gateway->questions, &hop, &mac) == 0)
		take_mac(gateway, mac);
	else
		ask(gateway);
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
		ask(gateway);
}

static int take_event(const struct nlmsghdr *message, void *context)
{
	struct gateway *gateway = context;
	uint64_t mac;

	bool ours = neighbour_event(message, &gateway->hop, &mac);

	if (ours && message->nlmsg_type == RTM_NEWNEIGH)
		take_mac(gateway, mac);
	else if (ours || message->nlmsg_type == RTM_NEWROUTE || message->nlmsg_type == RTM_DELROUTE)
		gateway->resolved = false; /* forgotten, or perhaps reached another way: ask again */
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
			lost = true; /* more news than the socket holds: ask instead */
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
		gateway->questions = open_socket(0);
		gateway->events = open_socket(RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE);
	}
	if (!gateway || !gateway->questions || !gateway->events) {
		log_error("outbound_gateway_mac = \"auto\": no netlink: %s", strerror(errno));
		gateway_close(gateway);
		return NULL;
	}
	return gateway;
}

void gateway_close(struct gateway *gateway)
{
	if (!gateway)
		return;
	if (gateway->questions)
		mnl_socket_close(gateway->questions);
	if (gateway->events)
		mnl_socket_close(gateway->events);
	free(gateway);
}
