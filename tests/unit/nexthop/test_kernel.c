/* SPDX-License-Identifier: BSD-3-Clause */
/* Lookups of routes whose requests fail. The test takes the place of the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/nexthop.h>
#include <string.h>
#include <sys/socket.h>

#include "director/nexthop/kernel.h"

#define GROUP 10 /* its members have the ids 1 and 2, which are their interfaces, too */

static const struct netaddr source = {.family = NETADDR_V4, .bytes = {192, 0, 2, 1}};
static const struct netaddr destination = {.family = NETADDR_V4, .bytes = {192, 0, 2, 99}};

static int member_error; /* of member 2 */
static int route_error; /* of the route from the source to the destination */
static int source_error; /* of the route to the source */

static const struct nlattr *find(const struct nlmsghdr *message, size_t header_size, uint16_t type)
{
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message, header_size) if (mnl_attr_get_type(attribute) == type) return attribute;
	return NULL;
}

static int route(struct nlmsghdr *message)
{
	bool to_source = !memcmp(mnl_attr_get_payload(find(message, sizeof(struct rtmsg), RTA_DST)), source.bytes, 4);
	int error = find(message, sizeof(struct rtmsg), RTA_SRC) ? route_error : to_source ? source_error : 0;
	struct rtmsg *head;

	mnl_nlmsg_put_header(message)->nlmsg_type = RTM_NEWROUTE;
	head = mnl_nlmsg_put_extra_header(message, sizeof(*head));
	head->rtm_family = AF_INET;
	head->rtm_type = to_source ? RTN_LOCAL : RTN_UNICAST;
	mnl_attr_put_u32(message, RTA_NH_ID, GROUP);
	return error;
}

static int object(struct nlmsghdr *message)
{
	static const struct nexthop_grp members[] = {{.id = 1}, {.id = 2}};
	uint32_t id = mnl_attr_get_u32(find(message, sizeof(struct nhmsg), NHA_ID));

	mnl_nlmsg_put_header(message)->nlmsg_type = RTM_NEWNEXTHOP;
	mnl_nlmsg_put_extra_header(message, sizeof(struct nhmsg));
	if (id == GROUP)
		mnl_attr_put(message, NHA_GROUP, sizeof(members), members);
	else
		mnl_attr_put_u32(message, NHA_OIF, id);
	return id == 2 ? member_error : 0;
}

int __wrap_netlink_get(struct netlink *netlink, struct nlmsghdr *message);
int __wrap_netlink_get(struct netlink *netlink, struct nlmsghdr *message)
{
	(void)netlink;
	return message->nlmsg_type == RTM_GETROUTE ? route(message) : object(message);
}

static int set_up(void **state)
{
	(void)state;
	member_error = route_error = source_error = 0;
	return 0;
}

static void test_a_group_loses_only_members_that_are_gone(void **state)
{
	struct route found;

	(void)state;
	assert_int_equal(kernel_route(NULL, &source, &destination, 0, &found), 0);
	assert_int_equal(found.count, 2);
	member_error = -ENOENT;
	assert_int_equal(kernel_route(NULL, &source, &destination, 0, &found), 0);
	assert_int_equal(found.count, 1);
	member_error = -ENOBUFS;
	assert_int_equal(kernel_route(NULL, &source, &destination, 0, &found), -ENOBUFS);
}

static void test_the_source_is_ignored_only_if_it_is_known_to_be_no_address_of_the_host(void **state)
{
	struct route found;

	(void)state;
	route_error = -ENETUNREACH;
	assert_int_equal(kernel_route(NULL, &source, &destination, 0, &found), -ENETUNREACH);
	source_error = -ENETUNREACH;
	assert_int_equal(kernel_route(NULL, &source, &destination, 0, &found), 0);
	source_error = -ENOBUFS;
	assert_int_equal(kernel_route(NULL, &source, &destination, 0, &found), -ENOBUFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_group_loses_only_members_that_are_gone, set_up),
		cmocka_unit_test_setup(
			test_the_source_is_ignored_only_if_it_is_known_to_be_no_address_of_the_host, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
