/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/vips.h"

#include <stdio.h>
#include <string.h>

void vips_add(struct vips *vips, const struct netprefix *vip)
{
	if (netprefix_is_in(vips->items, vips->count, vip))
		return;
	if (vips->count == VIPS_MAX)
		vips->left_out++;
	else
		vips->items[vips->count++] = *vip;
}

bool vips_add_list(struct vips *vips, const char *list, char word[NETPREFIX_TEXT_MAX])
{
	struct netprefix vip;
	size_t size;

	for (;; list += size + 1) {
		size = strcspn(list, ",");
		snprintf(word, NETPREFIX_TEXT_MAX, "%.*s", (int)(size < NETPREFIX_TEXT_MAX ? size : NETPREFIX_TEXT_MAX),
			list);
		if (size >= NETPREFIX_TEXT_MAX || !netprefix_parse(word, &vip, NULL))
			return false;
		vips_add(vips, &vip);
		if (!list[size])
			return true;
	}
}

void vips_add_prefixes(struct vips *vips, const struct redirect_prefixes *prefixes)
{
	for (size_t i = 0; i < prefixes->count; i++)
		vips_add(vips, &prefixes->items[i]);
}

/* Returns whether other hosts can send to this address of lo. */
static bool can_be_vip(const struct netaddr *address)
{
	return netaddr_is_unicast(address) && !netaddr_is_link_local(address);
}

void vips_add_of_lo(struct vips *vips, const struct addresses *addresses, const struct links *links)
{
	for (size_t i = 0; i < addresses->count; i++) {
		const struct address *address = &addresses->items[i];
		const struct net_link *link = links_by_index(links, address->link);
		struct netprefix vip = {.addr = address->address, .length = (uint8_t)netaddr_bits(&address->address)};

		if (link && link->flags & IFF_LOOPBACK && can_be_vip(&address->address))
			vips_add(vips, &vip);
	}
}

const struct netprefix *vips_find(const struct vips *vips, const struct netaddr *address)
{
	for (size_t i = 0; i < vips->count; i++)
		if (netprefix_covers(&vips->items[i], address))
			return &vips->items[i];
	return NULL;
}
