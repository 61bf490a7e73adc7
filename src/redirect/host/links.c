/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/links.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "program/netlink/netlink.h"

#define MAX_DEPTH 8 /* of masters on masters; the kernel allows no more */

static int add_link(const struct nlmsghdr *message, void *data)
{
	struct links *links = data;
	struct net_link link, *added;

	if (!rtnetlink_read_link(message, &link) || links_by_index(links, link.index))
		return MNL_CB_OK;
	added = array_append(&links->items, &links->count, sizeof(*added));
	if (!added)
		return MNL_CB_ERROR;
	*added = link;
	return MNL_CB_OK;
}

int links_read(struct links *links)
{
	char buf[NETLINK_MAX];
	struct ifinfomsg *header;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETLINK, NLM_F_DUMP, sizeof(*header), (void **)&header);

	*links = (struct links){0};
	return netlink_dump(NETLINK_ROUTE, message, add_link, links);
}

void links_free(struct links *links)
{
	free(links->items);
	*links = (struct links){0};
}

const struct net_link *links_by_index(const struct links *links, uint32_t index)
{
	for (size_t i = 0; i < links->count; i++)
		if (links->items[i].index == index)
			return &links->items[i];
	return NULL;
}

const struct net_link *links_by_name(const struct links *links, const char *name)
{
	for (size_t i = 0; i < links->count; i++)
		if (strcmp(links->items[i].name, name) == 0)
			return &links->items[i];
	return NULL;
}

static const struct net_link *master_of(const struct links *links, const struct net_link *link)
{
	return link->master ? links_by_index(links, link->master) : NULL;
}

const struct net_link *links_vrf(const struct links *links, const struct net_link *link)
{
	for (int depth = 0; link && depth < MAX_DEPTH; depth++) {
		link = master_of(links, link);
		if (link && strcmp(link->kind, "vrf") == 0)
			return link;
	}
	return NULL;
}

const struct net_link *links_of_ip(const struct links *links, const struct net_link *link)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct net_link *master = master_of(links, link);

		if (!master || strcmp(master->kind, "vrf") == 0)
			break;
		link = master;
	}
	return link;
}
