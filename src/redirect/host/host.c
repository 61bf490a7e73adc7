/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/host.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/array.h"
#include "program/netlink/netlink.h"
#include "program/netlink/rtnetlink.h"
#include "redirect/host/links.h"

/* Returns whether frames for the MAC address of this link, on top of another one, are for this host, and not for a
 * guest. */
static bool is_stacked(const struct net_link *link)
{
	return link->lower && (strcmp(link->kind, "vlan") == 0 || strcmp(link->kind, "macvlan") == 0);
}

/* Whether `link` belongs to the interface directly: as its bridge or bond, a member of it, or stacked on it. */
static bool belongs(const struct net_link *link, const struct net_link *interface)
{
	return interface->master == link->index || link->master == interface->index ||
	       (is_stacked(link) && link->lower == interface->index);
}

/* Sets ours[i] for each link that belongs to the interface, directly or by others. See struct host. */
static void mark_ours(const struct links *links, uint32_t ifindex, bool *ours)
{
	bool changed;

	for (size_t i = 0; i < links->count; i++)
		ours[i] = links->items[i].index == ifindex;
	do {
		changed = false;
		for (size_t i = 0; i < links->count; i++)
			for (size_t j = 0; j < links->count && !ours[i]; j++)
				if (ours[j] && belongs(&links->items[i], &links->items[j]))
					changed = ours[i] = true;
	} while (changed);
}

static int take_macs(const struct links *links, uint32_t ifindex, struct host *host)
{
	bool *ours = calloc(links->count + 1, sizeof(*ours));
	int error = ours ? 0 : -ENOMEM;

	if (!error)
		mark_ours(links, ifindex, ours);
	for (size_t i = 0; i < links->count && !error; i++) {
		struct host_mac *mac;

		if (!ours[i])
			continue;
		mac = array_append(&host->macs, &host->mac_count, sizeof(*mac));
		if (mac)
			memcpy(mac->bytes, links->items[i].mac, sizeof(mac->bytes));
		else
			error = -ENOMEM;
	}
	free(ours);
	return error;
}

static int read_macs(uint32_t ifindex, struct host *host)
{
	struct links links;
	int error = links_read(&links);

	if (!error)
		error = take_macs(&links, ifindex, host);
	links_free(&links);
	return error;
}

static bool is_loopback(const struct netprefix *prefix)
{
	static const uint8_t one[16] = {[15] = 1};

	if (prefix->addr.family == NETADDR_V4)
		return prefix->addr.bytes[0] == 127;
	return memcmp(prefix->addr.bytes, one, sizeof(one)) == 0;
}

static int take_route(const struct nlmsghdr *message, void *data)
{
	struct host *host = data;
	struct netprefix *added;
	struct route route;

	if (!rtnetlink_read_route(message, &route) || route.type != RTN_LOCAL || !route.destination.length ||
		is_loopback(&route.destination))
		return MNL_CB_OK;
	added = array_append(&host->local, &host->local_count, sizeof(*added));
	if (!added)
		return MNL_CB_ERROR;
	*added = route.destination;
	return MNL_CB_OK;
}

/* Reads the local routes, which include those that the kernel adds for each address of an interface. */
static int read_local(uint8_t family, struct host *host)
{
	char buf[NETLINK_MAX];
	struct rtmsg *head;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETROUTE, NLM_F_DUMP, sizeof(*head), (void **)&head);

	head->rtm_family = family;
	head->rtm_type = RTN_LOCAL;
	return netlink_dump(NETLINK_ROUTE, message, take_route, host);
}

int host_read(uint32_t ifindex, struct host *host)
{
	int error;

	*host = (struct host){0};
	error = read_macs(ifindex, host);
	if (!error)
		error = read_local(AF_INET, host);
	if (!error)
		error = read_local(AF_INET6, host);
	if (error)
		host_free(host);
	return error;
}

void host_free(struct host *host)
{
	free(host->local);
	free(host->macs);
	*host = (struct host){0};
}
