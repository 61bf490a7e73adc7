/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/check/features.h"

#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "program/host/device.h"
#include "program/netlink/netlink.h"

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

bool features_read(const char *interface, struct features *features)
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

bool features_xdp_transmit(uint32_t ifindex, bool *can)
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
