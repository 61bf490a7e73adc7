/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the interface and of its driver. */
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <net/if_arp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "program/host/device.h"
#include "program/netlink/netlink.h"
#include "redirect/check/check.h"
#include "redirect/host/system.h"
#include "redirect/host/underlay.h"
#include "redirect/host/vlan.h"
#include "redirect/kernel/losses.h"

static const struct finding no_interface = {FINDINGS_FAIL, NULL, "there is no such interface in this network namespace"};
static const struct finding no_ethernet = {
	FINDINGS_FAIL, NULL, "it has no Ethernet headers: use the interface that receives GUE with Ethernet headers"};
static const struct finding in_vrf = {FINDINGS_FAIL, "ip link set dev {0} nomaster",
	"it belongs to the VRF {1}, and the kernel does not find the sockets of a VRF for XDP"};
static const struct finding down = {FINDINGS_FAIL, "ip link set dev {0} up", "it is down"};
static const struct finding no_carrier = {
	FINDINGS_WARN, NULL, "it has no carrier: see the cable, the switch or the other end"};
/* It fails if GUE can arrive only with a tag. */
static const struct finding strips_tags = {FINDINGS_WARN, "ethtool -K {0} rxvlan off",
	"rxvlan is on: the card removes the tags of {1} before XDP sees them, so packets for the next hop leave without a tag (on veth also run ethtool -K PEER txvlan off)"};
static const struct finding lro = {FINDINGS_FAIL, "ethtool -K {0} lro off",
	"LRO is on: it merges packets before XDP sees them, and drivers refuse native mode"};
static const struct finding hardware_gro = {FINDINGS_WARN, "ethtool -K {0} rx-gro-hw off",
	"hardware GRO is on: it can merge packets before XDP sees them, and many drivers refuse native mode"};
static const struct finding loses = {FINDINGS_WARN, NULL,
	"packets for the next hop were lost after the program: the kernel refused {1}, the driver {2} since attach: see if glb-redirect status shows more of them"};
/* Both fail if the program is attached. */
static const struct finding veth_without_gro = {FINDINGS_WARN, NULL,
	"the other end of this veth pair has no GRO, so packets for the next hop are lost: run ethtool -K PEER gro on there, or attach with --mode generic"};
static const struct finding no_transmit = {FINDINGS_WARN, "glb-redirect {1}attach {0} --mode generic",
	"its driver cannot send what XDP redirects (no ndo_xdp_xmit), so packets for the next hop are lost in native mode"};

void check_interface(void *subject)
{
	const struct check *check = subject;
	const struct net_link *link = check->link, *vrf = link ? links_vrf(&check->links, link) : NULL;
	char driver[SYSTEM_DRIVER_MAX];

	if (!link) {
		findings_add(&no_interface, check->interface);
	} else if (link->type != ARPHRD_ETHER && link->type != ARPHRD_LOOPBACK) {
		findings_add(&no_ethernet, link->name);
	} else if (vrf) {
		findings_add(&in_vrf, link->name, vrf->name);
	} else if (!(link->flags & IFF_UP)) {
		findings_add(&down, link->name);
	} else if (!(link->flags & IFF_RUNNING)) {
		findings_add(&no_carrier, link->name);
	} else {
		system_driver(link->name, driver);
		findings_ok(link->name, "up, driver %s, MTU %u", driver, link->mtu);
	}
}

struct features {
	bool lro, gro_hw; /* switched on */
};

#define MAX_FEATURES 256 /* Linux 6.18 has less than 64 */

/* <linux/netdev.h>, which Linux 6.1 does not have. */
#define NETDEV_FAMILY         "netdev"
#define NETDEV_DEV_GET        1
#define NETDEV_DEV_IFINDEX    1
#define NETDEV_XDP_FEATURES   3
#define NETDEV_XDP_CAN_XMIT   (1u << 2)
#define NETDEV_FAMILY_VERSION 1

static uint32_t count_features(const char *interface)
{
	struct ethtool_sset_info *info = calloc(1, sizeof(*info) + sizeof(info->data[0]));
	uint32_t count = 0;

	if (info) {
		*info = (struct ethtool_sset_info){.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES};
		if (device_ethtool(interface, info) == 0 && info->data[0] <= MAX_FEATURES)
			count = info->data[0];
	}
	free(info);
	return count;
}

/* Returns whether the feature `index` is active. */
static bool is_active(const struct ethtool_gfeatures *features, uint32_t index)
{
	return features->features[index / 32].active >> index % 32 & 1;
}

static void set_features(const struct ethtool_gstrings *names, const struct ethtool_gfeatures *state, uint32_t count,
	struct features *features)
{
	const struct {
		const char *name;
		bool *value;
	} wanted[] = {
		{"rx-lro", &features->lro},
		{"rx-gro-hw", &features->gro_hw},
	};

	for (uint32_t i = 0; i < count; i++)
		for (size_t j = 0; j < sizeof(wanted) / sizeof(wanted[0]); j++)
			if (strncmp((const char *)names->data + i * ETH_GSTRING_LEN, wanted[j].name, ETH_GSTRING_LEN) == 0)
				*wanted[j].value = is_active(state, i);
}

/* Returns false if the device tells nothing. */
static bool read_features(const char *interface, struct features *features)
{
	uint32_t count = count_features(interface), blocks = (count + 31) / 32;
	struct ethtool_gstrings *names = calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
	struct ethtool_gfeatures *state = calloc(1, sizeof(*state) + blocks * sizeof(state->features[0]));
	bool known = count && names && state;

	*features = (struct features){0};
	if (known) {
		*names = (struct ethtool_gstrings){.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = count};
		*state = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES, .size = blocks};
		known = device_ethtool(interface, names) == 0 && device_ethtool(interface, state) == 0;
	}
	if (known)
		set_features(names, state, count, features);
	free(names);
	free(state);
	return known;
}

/* Returns the attribute of the type in a reply of a generic netlink family, or NULL. */
static const struct nlattr *find_attribute(const struct nlmsghdr *reply, uint16_t type)
{
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, reply, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(attribute) == type)
			return attribute;
	}
	return NULL;
}

/* Reads whether frames that XDP redirects can leave by this interface (ndo_xdp_xmit). False: not known before Linux
 * 6.3. */
static bool can_transmit(uint32_t ifindex, bool *can)
{
	char buf[NETLINK_MAX];
	struct genlmsghdr *header;
	struct nlmsghdr *message = netlink_begin(buf, GENL_ID_CTRL, 0, sizeof(*header), (void **)&header);
	const struct nlattr *found = NULL;
	struct netlink netlink;

	*header = (struct genlmsghdr){.cmd = CTRL_CMD_GETFAMILY, .version = 1};
	mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, NETDEV_FAMILY);
	if (netlink_open(&netlink, NETLINK_GENERIC) == 0 && netlink_get(&netlink, message) == 0)
		found = find_attribute(message, CTRL_ATTR_FAMILY_ID);
	if (found) {
		message = netlink_begin(buf, mnl_attr_get_u16(found), 0, sizeof(*header), (void **)&header);
		*header = (struct genlmsghdr){.cmd = NETDEV_DEV_GET, .version = NETDEV_FAMILY_VERSION};
		mnl_attr_put_u32(message, NETDEV_DEV_IFINDEX, ifindex);
		found = netlink_get(&netlink, message) == 0 ? find_attribute(message, NETDEV_XDP_FEATURES) : NULL;
	}
	if (found)
		*can = mnl_attr_get_u64(found) & NETDEV_XDP_CAN_XMIT;
	netlink_close(&netlink);
	return found;
}

/* Adds a finding if GUE can arrive with a VLAN tag that the card removes. */
static void report_vlan(const struct check *check)
{
	struct finding strips = strips_tags;
	enum vlan_stripping stripping;
	char vlan[IFNAMSIZ];
	bool ipv6 = underlay_has(&check->conf, &check->addresses, NETADDR_V6);

	if (check->generic || vlan_find(check->interface, &check->addresses, ipv6, &stripping, vlan) != 0 ||
		stripping == VLAN_NOT_STRIPPED)
		return;
	strips.level = stripping == VLAN_STRIPPED ? FINDINGS_FAIL : FINDINGS_WARN;
	findings_add(&strips, check->interface, vlan);
}

void check_offloads(void *subject)
{
	const struct check *check = subject;
	struct features features;

	report_vlan(check);
	if (!read_features(check->interface, &features)) {
		findings_ok(check->interface, "not known: the driver does not tell its offloads");
		return;
	}
	if (features.lro)
		findings_add(&lro, check->interface);
	if (features.gro_hw)
		findings_add(&hardware_gro, check->interface);
	if (findings_none())
		findings_ok(check->interface, "no LRO, no hardware GRO, no VLAN tag is lost");
}

/* Adds a finding if packets for the next hop were lost although the driver can send them. */
static void report_losses(const struct check *check)
{
	uint64_t lost[LOSSES_COUNT];

	if (check->attached && losses_read(check->interface, lost) == 0 && (lost[LOSSES_KERNEL] || lost[LOSSES_DRIVER]))
		findings_add(&loses, check->interface, findings_value("%" PRIu64, lost[LOSSES_KERNEL]),
			findings_value("%" PRIu64, lost[LOSSES_DRIVER]));
}

static void report_no_transmit(const struct check *check)
{
	struct finding lost = strcmp(check->link->kind, "veth") == 0 ? veth_without_gro : no_transmit;

	if (check->attached)
		lost.level = FINDINGS_FAIL;
	findings_add(&lost, check->interface,
		check->attached ? findings_value("detach %s; glb-redirect ", check->interface) : "");
}

void check_transmit(void *subject)
{
	const struct check *check = subject;
	bool can, known = can_transmit(check->link->index, &can);

	if (!known || can || check->generic)
		report_losses(check);
	if (!findings_none())
		return;
	if (check->attached && check->generic)
		findings_ok(check->interface, "generic mode sends forwarded packets with any driver");
	else if (!known)
		findings_ok(check->interface,
			"not known: Linux %s does not tell whether the driver can send what XDP redirects",
			system_release());
	else if (can)
		findings_ok(check->interface, "the driver can send what XDP redirects");
	else
		report_no_transmit(check);
}
