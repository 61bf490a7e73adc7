/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as what other programs print: ip, devlink, tc and ethtool to glb-bifurcate, nft to glb-redirect. The first
 * byte chooses who asks. A NUL ends what one program prints.
 */
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "bifurcate/vf/vf_ask.h"
#include "bifurcate/vf/vf_rules.h"
#include "program/netlink/netlink.h"
#include "program/output_of.h"
#include "redirect/check/ruleset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_output_of(char *const words[], char **text, size_t *size);
int __wrap_netlink_dump(int bus, struct nlmsghdr *message, mnl_cb_t each, void *data);

static const char *next;
static size_t left;

/* The linker puts these two in the place of the real ones. */
int __wrap_output_of(char *const words[], char **text, size_t *size)
{
	(void)words;
	*text = NULL;
	if (!left)
		return -EIO;
	*size = strnlen(next, left);
	*text = strndup(next, *size);
	next += *size;
	left -= *size;
	next += left > 0;
	left -= left > 0;
	return 0;
}

/* There is one table. */
int __wrap_netlink_dump(int bus, struct nlmsghdr *message, mnl_cb_t each, void *data)
{
	(void)bus;
	message->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE;
	return each(message, data) == MNL_CB_OK ? 0 : -EIO;
}

static void read_rules(struct vf_state *state, const char *driver, struct faults *faults)
{
	snprintf(state->driver, sizeof(state->driver), "%s", driver);
	vf_rules_read(state, 1, faults);
	for (size_t i = 0; i < state->rules.count; i++)
		if (state->rules.items[i].vip.length > 128)
			abort();
	vf_rules_free(&state->rules);
}

static void read_ruleset(void)
{
	static const struct ruleset_packets packets = {
		.vip = {{NETADDR_V4, {203, 0, 113, 10}}, 32}, .interface = "eth0", .ports = {80, 443}, .port_count = 2};
	const json_t *object;
	json_t *objects;
	int tables;
	size_t i;

	ruleset_read(&objects, &tables);
	json_array_foreach(objects, i, object)
	{
		const json_t *rule = ruleset_rule(object), *chain = ruleset_chain(object);

		if (chain)
			ruleset_has_family(chain, NETADDR_V4);
		if (!rule)
			continue;
		ruleset_has_family(rule, NETADDR_V6);
		ruleset_uses(rule, "drop");
		ruleset_tracks(rule);
		ruleset_drops_invalid(rule);
		ruleset_compares(rule, "daddr");
		ruleset_fits(rule, &packets);
	}
	json_decref(objects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vf_state state = {.interface = "eth0", .pf = "0000:03:00.0", .representor = "eth0_0"};
	const struct vf_conf conf = {.vf = 1, .mac = {2, 0, 0, 0, 0, 1}};
	struct faults faults = {0};

	if (size == 0)
		return 0;
	next = (const char *)data + 1;
	left = size - 1;
	switch (data[0] % 4) {
	case 0:
		vf_ask_attributes(&state, &conf, &faults);
		vf_ask_eswitch(&state);
		break;
	case 1:
		read_rules(&state, "ixgbe", &faults);
		break;
	case 2:
		read_rules(&state, "ice", &faults);
		break;
	default:
		read_ruleset();
	}
	faults_clear(&faults);
	return 0;
}
