/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/links.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redirect/host/netlink.h"

#define MAX_DEPTH 8 /* of masters on masters; the kernel allows no more */

static void read_kind(const struct nlattr *info, struct link *link)
{
	const struct nlattr *attribute;

	mnl_attr_for_each_nested(attribute, info) if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND)
		snprintf(link->kind, sizeof(link->kind), "%s", mnl_attr_get_str(attribute));
}

static void read_attribute(const struct nlattr *attribute, struct link *link)
{
	switch (mnl_attr_get_type(attribute)) {
	case IFLA_IFNAME:
		snprintf(link->name, sizeof(link->name), "%s", mnl_attr_get_str(attribute));
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(attribute) == sizeof(link->mac))
			memcpy(link->mac, mnl_attr_get_payload(attribute), sizeof(link->mac));
		break;
	case IFLA_MTU:
		link->mtu = mnl_attr_get_u32(attribute);
		break;
	case IFLA_MASTER:
		link->master = mnl_attr_get_u32(attribute);
		break;
	case IFLA_LINK:
		link->lower = mnl_attr_get_u32(attribute);
		break;
	case IFLA_LINK_NETNSID: /* the lower interface is in another namespace, where its index has another meaning */
		link->lower = 0;
		break;
	case IFLA_LINKINFO:
		read_kind(attribute, link);
		break;
	}
}

static int add_link(const struct nlmsghdr *message, void *data)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	struct links *links = data;
	struct link link = {.index = (uint32_t)info->ifi_index, .flags = info->ifi_flags, .type = info->ifi_type};
	struct link *items;
	const struct nlattr *attribute;

	if (message->nlmsg_type != RTM_NEWLINK || links_by_index(links, link.index))
		return MNL_CB_OK;
	mnl_attr_for_each(attribute, message, sizeof(*info)) read_attribute(attribute, &link);
	items = realloc(links->items, (links->count + 1) * sizeof(*items));
	if (!items) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	links->items = items;
	links->items[links->count++] = link;
	return MNL_CB_OK;
}

int links_read(struct links *links)
{
	char buf[NETLINK_REQUEST_MAX] = {0};
	struct ifinfomsg *header;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETLINK, NLM_F_DUMP, sizeof(*header), (void **)&header);

	*links = (struct links){0};
	return netlink_request(NETLINK_ROUTE, message, add_link, links);
}

void links_free(struct links *links)
{
	free(links->items);
	*links = (struct links){0};
}

const struct link *links_by_index(const struct links *links, uint32_t index)
{
	for (size_t i = 0; i < links->count; i++)
		if (links->items[i].index == index)
			return &links->items[i];
	return NULL;
}

const struct link *links_by_name(const struct links *links, const char *name)
{
	for (size_t i = 0; i < links->count; i++)
		if (strcmp(links->items[i].name, name) == 0)
			return &links->items[i];
	return NULL;
}

static const struct link *master_of(const struct links *links, const struct link *link)
{
	return link->master ? links_by_index(links, link->master) : NULL;
}

const struct link *links_vrf(const struct links *links, const struct link *link)
{
	for (int depth = 0; link && depth < MAX_DEPTH; depth++) {
		link = master_of(links, link);
		if (link && strcmp(link->kind, "vrf") == 0)
			return link;
	}
	return NULL;
}

const struct link *links_of_ip(const struct links *links, const struct link *link)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct link *master = master_of(links, link);

		if (!master || strcmp(master->kind, "vrf") == 0)
			break;
		link = master;
	}
	return link;
}
