/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets of this network namespace, summed for metrics: connections by VIP, established ones also by port, and the
 * accept queues of the listening sockets that serve a VIP. Plain data; one thread. The functions print nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"
#include "program/facts.h"
#include "redirect/host/vips.h"

#define SOCKETS_MAX_SERVICES  4096 /* connections of others are counted as those of no service */
#define SOCKETS_MAX_LISTENERS 1024 /* others are left out */

/* A port that listening sockets serve for a VIP. */
struct sockets_service {
	size_t vip; /* index of the VIP */
	uint16_t port;
	uint32_t connections;
};

/* All listening sockets with the same address and port. */
struct sockets_listener {
	struct netaddr address; /* all zero: any */
	bool v6only; /* all of them accept no IPv4 */
	uint16_t port;
	uint32_t sockets, full;
	/* Connections that wait for accept(), and how many may. */
	uint64_t waiting, backlog;
	double used; /* how full the queue of the fullest of these sockets is; 1: it takes no connection */
};

extern const struct fact sockets_listener_facts[];

struct sockets {
	int error; /* 0, or -errno: what follows is not complete */
	struct vips vips;
	struct sockets_service services[SOCKETS_MAX_SERVICES]; /* in order of VIP and port */
	size_t service_count;
	uint32_t open_tcp[VIPS_MAX], open_udp[VIPS_MAX]; /* what `glb-redirect drained` counts, of each VIP */
	uint32_t other[VIPS_MAX]; /* established connections of each VIP for a port that is no service */
	struct sockets_listener listeners[SOCKETS_MAX_LISTENERS];
	size_t listener_count;
};

/* The VIPs are those that the attached programs allow (allow_to). If one allows all local addresses, they are those of
 * lo. */
void sockets_read(struct sockets *sockets);
