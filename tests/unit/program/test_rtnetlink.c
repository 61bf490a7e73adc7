/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "program/netlink/rtnetlink.h"
#include "tests/unit/guarded.h"

static char buf[65536] __attribute__((aligned(8)));

static struct nlmsghdr *begin(uint16_t type, const void *header, size_t size)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buf);

	message->nlmsg_type = type;
	memcpy(mnl_nlmsg_put_extra_header(message, size), header, size);
	return message;
}

static struct nlmsghdr *begin_route(uint8_t type, unsigned flags)
{
	struct rtmsg head = {.rtm_family = AF_INET, .rtm_type = type, .rtm_flags = flags};

	return begin(RTM_NEWROUTE, &head, sizeof(head));
}

static void put_address(struct nlmsghdr *message, uint16_t type, const char *text)
{
	uint32_t address = inet_addr(text);

	mnl_attr_put(message, type, sizeof(address), &address);
}

static void put_via(struct nlmsghdr *message, const char *text)
{
	uint8_t via[18] = {AF_INET6};

	assert_int_equal(inet_pton(AF_INET6, text, via + 2), 1);
	mnl_attr_put(message, RTA_VIA, sizeof(via), via);
}

/* Begins an entry of RTA_MULTIPATH. end_hop() ends it. */
static struct rtnexthop *begin_hop(struct nlmsghdr *message, int interface, uint8_t weight, uint8_t flags)
{
	struct rtnexthop *hop = mnl_nlmsg_get_payload_tail(message);

	*hop = (struct rtnexthop){.rtnh_hops = weight - 1, .rtnh_flags = flags, .rtnh_ifindex = interface};
	message->nlmsg_len += sizeof(*hop);
	return hop;
}

static void end_hop(struct nlmsghdr *message, struct rtnexthop *hop)
{
	hop->rtnh_len = (uint16_t)((char *)mnl_nlmsg_get_payload_tail(message) - (char *)hop);
}

static void assert_address(const struct neighbour_key *key, uint32_t family, const char *text)
{
	uint8_t expected[16] = {0};

	assert_int_equal(key->family, family);
	assert_int_equal(inet_pton((int)family, text, expected), 1);
	assert_memory_equal(key->address, expected, sizeof(expected));
}

static void test_gateway(void **state)
{
	struct nlmsghdr *message = begin_route(RTN_UNICAST, 0);
	struct route route;

	(void)state;
	mnl_attr_put_u32(message, RTA_OIF, 7);
	put_address(message, RTA_GATEWAY, "10.0.0.1");
	assert_true(rtnetlink_read_route(message, &route));
	assert_int_equal(route.type, RTN_UNICAST);
	assert_int_equal(route.count, 1);
	assert_int_equal(route.next_hops[0].weight, 1);
	assert_int_equal(route.next_hops[0].key.interface, 7);
	assert_false(route.next_hops[0].down);
	assert_false(route.next_hops[0].unusable);
	assert_address(&route.next_hops[0].key, AF_INET, "10.0.0.1");
}

static void test_on_link(void **state)
{
	struct nlmsghdr *message = begin_route(RTN_UNICAST, RTNH_F_LINKDOWN);
	struct route route;

	(void)state;
	mnl_attr_put_u32(message, RTA_OIF, 7);
	assert_true(rtnetlink_read_route(message, &route));
	assert_int_equal(route.count, 1);
	assert_int_equal(route.next_hops[0].key.family, AF_UNSPEC);
	assert_true(route.next_hops[0].down);
}

static void test_ipv6_next_hop(void **state)
{
	struct nlmsghdr *message = begin_route(RTN_UNICAST, 0);
	struct route route;

	(void)state;
	put_via(message, "fe80::1");
	mnl_attr_put_u32(message, RTA_OIF, 9);
	assert_true(rtnetlink_read_route(message, &route));
	assert_int_equal(route.count, 1);
	assert_address(&route.next_hops[0].key, AF_INET6, "fe80::1");
}

static struct nlmsghdr *put_multipath(void)
{
	struct nlmsghdr *message = begin_route(RTN_UNICAST, 0);
	struct nlattr *nest = mnl_attr_nest_start(message, RTA_MULTIPATH);
	struct rtnexthop *hop = begin_hop(message, 3, 1, 0);

	put_address(message, RTA_GATEWAY, "10.0.0.1");
	end_hop(message, hop);
	hop = begin_hop(message, 4, 20, RTNH_F_DEAD | RTNH_F_LINKDOWN);
	put_via(message, "fe80::2");
	end_hop(message, hop);
	hop = begin_hop(message, 5, 3, 0);
	mnl_attr_put_u16(message, RTA_ENCAP_TYPE, 1);
	end_hop(message, hop);
	mnl_attr_nest_end(message, nest);
	mnl_attr_put_u32(message, RTA_PRIORITY, 20);
	return message;
}

static void test_multipath(void **state)
{
	struct route route;

	(void)state;
	assert_true(rtnetlink_read_route(put_multipath(), &route));
	assert_int_equal(route.count, 3);
	assert_int_equal(route.next_hops[0].key.interface, 3);
	assert_int_equal(route.next_hops[0].weight, 1);
	assert_false(route.next_hops[0].down);
	assert_address(&route.next_hops[0].key, AF_INET, "10.0.0.1");
	assert_int_equal(route.next_hops[1].weight, 20);
	assert_true(route.next_hops[1].down);
	assert_address(&route.next_hops[1].key, AF_INET6, "fe80::2");
	assert_true(route.next_hops[2].unusable);
	assert_int_equal(route.next_hops[2].key.family, AF_UNSPEC);
}

static void test_more_next_hops_than_room(void **state)
{
	struct nlmsghdr *message = begin_route(RTN_UNICAST, 0);
	struct nlattr *nest = mnl_attr_nest_start(message, RTA_MULTIPATH);
	struct route route;

	(void)state;
	for (int i = 1; i <= RTNETLINK_MAX_NEXT_HOPS + 5; i++)
		end_hop(message, begin_hop(message, i, 1, 0));
	mnl_attr_nest_end(message, nest);
	assert_true(rtnetlink_read_route(message, &route));
	assert_int_equal(route.count, RTNETLINK_MAX_NEXT_HOPS);
	assert_int_equal(route.next_hops[RTNETLINK_MAX_NEXT_HOPS - 1].key.interface, RTNETLINK_MAX_NEXT_HOPS);
}

static void test_route_without_next_hops(void **state)
{
	struct nlmsghdr *message = begin_route(RTN_BLACKHOLE, 0);
	struct route route;

	(void)state;
	mnl_attr_put_u32(message, RTA_NH_ID, 12);
	assert_true(rtnetlink_read_route(message, &route));
	assert_int_equal(route.type, RTN_BLACKHOLE);
	assert_int_equal(route.object, 12);
	assert_int_equal(route.count, 0);
}

/* Addresses and attributes whose size does not fit their type make a next hop unusable. They are never read beyond their end. */
static void test_attributes_of_a_wrong_size(void **state)
{
	static const struct {
		uint16_t type, size;
	} cases[] = {{RTA_GATEWAY, 0}, {RTA_GATEWAY, 3}, {RTA_GATEWAY, 16}, {RTA_VIA, 0}, {RTA_VIA, 1}, {RTA_VIA, 2},
		{RTA_VIA, 6}, {RTA_VIA, 17}, {RTA_VIA, 19}};
	static const uint8_t payload[32] = {AF_INET6};
	struct route route;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nlmsghdr *message = begin_route(RTN_UNICAST, 0);

		mnl_attr_put_u32(message, RTA_OIF, 3);
		mnl_attr_put(message, cases[i].type, cases[i].size, payload);
		assert_true(rtnetlink_read_route(message, &route));
		assert_int_equal(route.count, 1);
		assert_true(route.next_hops[0].unusable);
	}
}

static void test_lying_lengths_in_multipath(void **state)
{
	static const uint16_t lengths[] = {0, 1, 7, 9, 11, 200, 65535};
	struct route route;

	(void)state;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct nlmsghdr *message = put_multipath();
		struct rtnexthop *first = (struct rtnexthop *)(buf + NLMSG_HDRLEN + sizeof(struct rtmsg) + 4);

		first->rtnh_len = lengths[i];
		assert_true(rtnetlink_read_route(message, &route));
		assert_true(route.count <= 1 + 65535 / sizeof(*first));
		if (lengths[i] < sizeof(*first) || lengths[i] == 65535)
			assert_int_equal(route.count, 0);
	}
}

static struct nlmsghdr *put_neighbour(uint16_t type, uint16_t nud, uint8_t flags)
{
	struct ndmsg head = {.ndm_family = AF_INET, .ndm_ifindex = 4, .ndm_state = nud, .ndm_flags = flags};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x17};
	struct nlmsghdr *message = begin(type, &head, sizeof(head));

	put_address(message, NDA_DST, "10.0.0.9");
	mnl_attr_put(message, NDA_LLADDR, sizeof(mac), mac);
	return message;
}

static void test_neighbour(void **state)
{
	struct neighbour_entry entry;

	(void)state;
	assert_true(rtnetlink_read_neighbour(put_neighbour(RTM_NEWNEIGH, NUD_STALE, 0), &entry));
	assert_int_equal(entry.key.interface, 4);
	assert_address(&entry.key, AF_INET, "10.0.0.9");
	assert_int_equal(entry.state, NUD_STALE);
	assert_int_equal(entry.mac, UINT64_C(0x170000000002));
	assert_true(rtnetlink_read_neighbour(put_neighbour(RTM_DELNEIGH, NUD_FAILED, 0), &entry));
	assert_false(rtnetlink_read_neighbour(put_neighbour(RTM_NEWNEIGH, NUD_STALE, NTF_PROXY), &entry));
	assert_false(rtnetlink_read_neighbour(put_neighbour(RTM_NEWLINK, NUD_STALE, 0), &entry));
}

static void test_neighbour_without_ethernet_address(void **state)
{
	struct ndmsg head = {.ndm_family = AF_INET, .ndm_ifindex = 4, .ndm_state = NUD_NOARP};
	struct nlmsghdr *message = begin(RTM_NEWNEIGH, &head, sizeof(head));
	struct neighbour_entry entry;

	(void)state;
	put_address(message, NDA_DST, "10.0.0.9");
	mnl_attr_put(message, NDA_LLADDR, 4, "abc");
	assert_true(rtnetlink_read_neighbour(message, &entry));
	assert_int_equal(entry.mac, 0);
}

static void test_neighbour_with_a_multicast_or_broadcast_address_has_no_mac(void **state)
{
	static const uint8_t macs[][6] = {
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {1, 0, 0x5e, 0, 0, 1}, {3, 0, 0, 0, 0, 1}};

	(void)state;
	for (unsigned i = 0; i < sizeof(macs) / sizeof(macs[0]); i++) {
		struct ndmsg head = {.ndm_family = AF_INET, .ndm_ifindex = 4, .ndm_state = NUD_REACHABLE};
		struct nlmsghdr *message = begin(RTM_NEWNEIGH, &head, sizeof(head));
		struct neighbour_entry entry;

		put_address(message, NDA_DST, "10.0.0.9");
		mnl_attr_put(message, NDA_LLADDR, sizeof(macs[i]), macs[i]);
		assert_true(rtnetlink_read_neighbour(message, &entry));
		assert_int_equal(entry.mac, 0);
	}
}

static void test_bridge_entry_is_no_neighbour(void **state)
{
	struct ndmsg head = {.ndm_family = AF_BRIDGE, .ndm_ifindex = 4, .ndm_state = NUD_REACHABLE};
	struct nlmsghdr *message = begin(RTM_NEWNEIGH, &head, sizeof(head));
	struct neighbour_entry entry;

	(void)state;
	mnl_attr_put(message, NDA_LLADDR, 6, "abcdef");
	put_address(message, NDA_DST, "10.0.0.9"); /* a remote VXLAN endpoint */
	assert_false(rtnetlink_read_neighbour(message, &entry));
}

static void test_nexthop_object(void **state)
{
	struct nhmsg head = {.nh_family = AF_INET6, .nh_flags = RTNH_F_DEAD};
	uint8_t address[16] = {0xfe, 0x80, [15] = 5};
	struct nlmsghdr *message = begin(RTM_NEWNEXTHOP, &head, sizeof(head));
	struct nexthop_object object;

	(void)state;
	mnl_attr_put_u32(message, NHA_OIF, 6);
	mnl_attr_put(message, NHA_GATEWAY, sizeof(address), address);
	assert_true(rtnetlink_read_nexthop(message, &object));
	assert_true(object.valid);
	assert_true(object.next_hop.down);
	assert_int_equal(object.next_hop.key.interface, 6);
	assert_address(&object.next_hop.key, AF_INET6, "fe80::5");
}

static void test_nexthop_group(void **state)
{
	/* id 1 with weight 1, id 2 with weight 0x0102 + 1, and a member that is cut off */
	static const uint8_t group[19] = {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 1, 0, 0, 3, 0, 0};
	struct nhmsg head = {.nh_family = AF_UNSPEC};
	struct nlmsghdr *message = begin(RTM_NEWNEXTHOP, &head, sizeof(head));
	struct nexthop_object object;

	(void)state;
	mnl_attr_put(message, NHA_GROUP, sizeof(group), group);
	assert_true(rtnetlink_read_nexthop(message, &object));
	assert_false(object.valid);
	assert_int_equal(object.count, 2);
	assert_int_equal(object.members[0].id, 1);
	assert_int_equal(object.members[0].weight, 1);
	assert_int_equal(object.members[1].id, 2);
	assert_int_equal(object.members[1].weight, 0x103);
}

static void test_kind_of_a_link(void **state)
{
	static const struct {
		const char *kind;
		size_t size;
		const char *expected;
	} cases[] = {{"vrf", 4, "vrf"}, {"vrf", 3, "vrf"}, {"vrf2", 5, "vrf2"}, {"veth", 3, "vet"}, {"", 0, ""},
		{"a-very-long-kind-of-link", 24, "a-very-long-kin"}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ifinfomsg head = {.ifi_index = 8};
		struct nlmsghdr *message = begin(RTM_NEWLINK, &head, sizeof(head));
		struct nlattr *nest;
		struct net_link link;

		mnl_attr_put_u32(message, IFLA_MASTER, 5);
		nest = mnl_attr_nest_start(message, IFLA_LINKINFO);
		mnl_attr_put(message, IFLA_INFO_KIND, cases[i].size, cases[i].kind);
		mnl_attr_nest_end(message, nest);
		assert_true(rtnetlink_read_link(message, &link));
		assert_int_equal(link.index, 8);
		assert_int_equal(link.master, 5);
		assert_string_equal(link.kind, cases[i].expected);
	}
}

/* The kernel names the namespace first. */
static void test_link_whose_lower_one_is_in_another_namespace(void **state)
{
	struct ifinfomsg head = {.ifi_index = 8};
	struct nlmsghdr *message = begin(RTM_NEWLINK, &head, sizeof(head));
	struct net_link link;

	(void)state;
	mnl_attr_put_u32(message, IFLA_LINK_NETNSID, 0);
	mnl_attr_put_u32(message, IFLA_LINK, 3);
	assert_true(rtnetlink_read_link(message, &link));
	assert_int_equal(link.lower, 0);
	message = begin(RTM_NEWLINK, &head, sizeof(head));
	mnl_attr_put_u32(message, IFLA_LINK, 3);
	assert_true(rtnetlink_read_link(message, &link));
	assert_int_equal(link.lower, 3);
}

static void test_default_route_with_metrics(void **state)
{
	struct rtmsg head = {.rtm_family = AF_INET6, .rtm_type = RTN_UNICAST, .rtm_table = RT_TABLE_MAIN};
	struct nlmsghdr *message = begin(RTM_NEWROUTE, &head, sizeof(head));
	struct nlattr *nest = mnl_attr_nest_start(message, RTA_METRICS);
	struct route route;

	(void)state;
	mnl_attr_put_u32(message, RTAX_MTU, 1400);
	mnl_attr_put_u32(message, RTAX_ADVMSS, 1340);
	mnl_attr_nest_end(message, nest);
	mnl_attr_put_u32(message, RTA_OIF, 7);
	assert_true(rtnetlink_read_route(message, &route));
	assert_true(route.main && !route.cloned);
	assert_int_equal(route.destination.addr.family, NETADDR_V6);
	assert_int_equal(route.destination.length, 0);
	assert_int_equal(route.mtu, 1400);
	assert_int_equal(route.advmss, 1340);
	assert_int_equal(route.count, 1);
	assert_int_equal(route.next_hops[0].key.interface, 7);
}

static void read_all(const struct nlmsghdr *message)
{
	struct route route;
	struct nexthop_object object;
	struct neighbour_entry entry;
	struct net_link link;

	if (rtnetlink_read_route(message, &route))
		assert_true(route.count <= RTNETLINK_MAX_NEXT_HOPS);
	if (rtnetlink_read_nexthop(message, &object))
		assert_true(object.count <= RTNETLINK_MAX_NEXT_HOPS);
	rtnetlink_read_neighbour(message, &entry);
	rtnetlink_read_link(message, &link);
}

/* Each message is at the end of the readable memory. */
static void test_cut_and_damaged_messages(void **state)
{
	static const uint16_t types[] = {RTM_NEWROUTE, RTM_NEWNEIGH, RTM_DELNEIGH, RTM_NEWLINK, RTM_NEWNEXTHOP};
	uint32_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct nlmsghdr *message = round & 1 ? put_multipath() : put_neighbour(RTM_NEWNEIGH, NUD_REACHABLE, 0);
		uint32_t size, changes;

		random = random * 1664525 + 1013904223;
		size = NLMSG_HDRLEN + (random >> 8) % (message->nlmsg_len - NLMSG_HDRLEN + 1);
		changes = random >> 28;
		for (unsigned i = 0; i < changes && size > NLMSG_HDRLEN; i++) {
			random = random * 1664525 + 1013904223;
			buf[NLMSG_HDRLEN + (random >> 8) % (size - NLMSG_HDRLEN)] = (char)(random >> 24);
		}
		message->nlmsg_len = size;
		message->nlmsg_type = types[round / 2 % 5];
		/* At an address that is a multiple of four, and therefore up to three bytes before the end. */
		read_all(memcpy(guarded_end() - (size + 3) / 4 * 4, buf, size));
		if (size % 4 == 0)
			read_all((const void *)guarded_copy(buf, size));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gateway),
		cmocka_unit_test(test_on_link),
		cmocka_unit_test(test_ipv6_next_hop),
		cmocka_unit_test(test_multipath),
		cmocka_unit_test(test_more_next_hops_than_room),
		cmocka_unit_test(test_route_without_next_hops),
		cmocka_unit_test(test_attributes_of_a_wrong_size),
		cmocka_unit_test(test_lying_lengths_in_multipath),
		cmocka_unit_test(test_neighbour),
		cmocka_unit_test(test_neighbour_without_ethernet_address),
		cmocka_unit_test(test_neighbour_with_a_multicast_or_broadcast_address_has_no_mac),
		cmocka_unit_test(test_bridge_entry_is_no_neighbour),
		cmocka_unit_test(test_nexthop_object),
		cmocka_unit_test(test_nexthop_group),
		cmocka_unit_test(test_kind_of_a_link),
		cmocka_unit_test(test_link_whose_lower_one_is_in_another_namespace),
		cmocka_unit_test(test_default_route_with_metrics),
		cmocka_unit_test(test_cut_and_damaged_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
