/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads any bytes as messages of rtnetlink, as the kernel sends them. The lengths of messages are right, as libmnl sees to. */
#include <stdlib.h>
#include <string.h>

#include "program/netlink/rtnetlink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nlmsghdr *message;
	struct route route;
	struct nexthop_object nexthop;
	struct neighbour_entry neighbour;
	struct net_link link;

	if (size < sizeof(*message))
		return 0;
	message = malloc(size); /* of exactly this size, so that ASan detects accesses outside */
	memcpy(message, data, size);
	message->nlmsg_len = (uint32_t)size;
	if (rtnetlink_read_route(message, &route) && route.count > RTNETLINK_MAX_NEXT_HOPS)
		abort();
	if (rtnetlink_read_nexthop(message, &nexthop) && nexthop.count > RTNETLINK_MAX_NEXT_HOPS)
		abort();
	if (rtnetlink_read_link(message, &link) &&
		(!memchr(link.name, 0, sizeof(link.name)) || !memchr(link.kind, 0, sizeof(link.kind))))
		abort();
	rtnetlink_read_neighbour(message, &neighbour);
	free(message);
	return 0;
}
