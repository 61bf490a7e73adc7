/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rules of ixgbe's Flow Director: 2^11 - 2 in the driver of the kernel, 2^13 - 2 in Intel's own with the largest
 * FdirPballoc. */
#define IXGBE_ROOM        2046
#define IXGBE_VENDOR_ROOM 8190

bool vf_rules_has_ntuple(const struct vf_state *state)
{
	return strcmp(state->driver, "ixgbe") == 0;
}

bool vf_rules_has_tc(const struct vf_state *state)
{
	return strcmp(state->driver, "ice") == 0 || strcmp(state->driver, VF_MLX5) == 0;
}

void vf_rules_free(struct vf_rules *rules)
{
	free(rules->items);
	*rules = (struct vf_rules){0};
}

static bool is_same(const struct netprefix *a, const struct netprefix *b)
{
	return a->length == b->length && netaddr_compare(&a->addr, &b->addr) == 0;
}

/* Both lists are walked in full: a card has some thousand rules at most. */
static bool has_rule(const struct vf_rules *now, const struct netprefix *vip)
{
	for (size_t i = 0; i < now->count; i++)
		if (is_same(&now->items[i].vip, vip))
			return true;
	return false;
}

static bool is_wanted(const struct vips *vips, const struct netprefix *vip)
{
	const struct bifurcate_prefix key = vips_key(vip);

	return vips->count && bsearch(&key, vips->items, vips->count, sizeof(key), vips_compare);
}

static const char *address_of(const struct netprefix *vip, char text[NETADDR_TEXT_MAX])
{
	return netaddr_format(&vip->addr, text);
}

static void add_ntuple(
	const struct vf_conf *conf, const struct vf_state *state, const struct netprefix *vip, struct vf_plan *plan)
{
	char text[NETADDR_TEXT_MAX], mask[32] = "";
	uint32_t ignored = vip->length == 0 ? UINT32_MAX : (uint32_t)((UINT64_C(1) << (32 - vip->length)) - 1);

	/* Bits that are set in the mask of ethtool do not matter. */
	if (ignored)
		snprintf(mask, sizeof(mask), " m %u.%u.%u.%u", ignored >> 24, ignored >> 16 & 255, ignored >> 8 & 255,
			ignored & 255);
	vf_plan_add(plan, VF_RULES, vf_plan_differs("no rule for %s", address_of(vip, text)),
		"ethtool --config-ntuple %s flow-type ip4 dst-ip %s%s vf %u queue 0", state->interface, text, mask,
		conf->vf);
}

static void add_tc(const struct vf_state *state, const struct netprefix *vip, struct vf_plan *plan)
{
	char text[NETPREFIX_TEXT_MAX];
	bool v6 = vip->addr.family == NETADDR_V6;

	netprefix_format(vip, text);
	vf_plan_add(plan, VF_RULES, vf_plan_differs("no rule for %s", text),
		"tc filter add dev %s ingress protocol %s prio %d flower skip_sw dst_ip %s action mirred egress redirect dev %s",
		state->interface, v6 ? "ipv6" : "ip", v6 ? VF_RULES_PRIO_V6 : VF_RULES_PRIO_V4, text, state->representor);
}

static void remove_rule(const struct vf_state *state, const struct vf_rule *rule, struct vf_plan *plan)
{
	bool v6 = rule->vip.addr.family == NETADDR_V6;
	char text[NETPREFIX_TEXT_MAX], *differs;

	differs = vf_plan_differs("a rule for %s, which is no VIP", netprefix_format(&rule->vip, text));
	if (vf_rules_has_ntuple(state))
		vf_plan_add(plan, VF_RULES, differs, "ethtool --config-ntuple %s delete %u", state->interface, rule->id);
	else
		vf_plan_add(plan, VF_RULES, differs,
			"tc filter del dev %s ingress protocol %s prio %d handle 0x%x flower", state->interface,
			v6 ? "ipv6" : "ip", v6 ? VF_RULES_PRIO_V6 : VF_RULES_PRIO_V4, rule->id);
}

void vf_rules_plan_removal(const struct vf_state *state, struct vf_plan *plan)
{
	const struct vf_rules *now = &state->rules;

	for (size_t i = 0; i < now->count; i++)
		remove_rule(state, &now->items[i], plan);
}

/* All rules of a port of ixgbe have one mask, and it has no rules for IPv6. Leaves the VIPs that it can have. */
static int check_ntuple(const struct vf_state *state, const struct vips *vips, struct vips *fitting, struct faults *faults)
{
	uint32_t room = state->vendor_driver ? IXGBE_VENDOR_ROOM : IXGBE_ROOM, v6 = 0;
	size_t others = state->rules.total - state->rules.count;
	struct netprefix first = {0};
	char one[NETPREFIX_TEXT_MAX], other[NETPREFIX_TEXT_MAX];

	for (uint32_t i = 0; i < vips->count; i++) {
		struct netprefix vip = vips_prefix(&vips->items[i]);

		if (vip.addr.family == NETADDR_V6) {
			v6++;
			continue;
		}
		if (fitting->count == 0)
			first = vip;
		if (vip.length != first.length) {
			faults_error(faults, "steering",
				"all rules of ixgbe have prefixes of one length, but the VIPs %s and %s have two: use \"next-hop\"",
				netprefix_format(&first, one), netprefix_format(&vip, other));
			return -EINVAL;
		}
		if (vips_add(fitting, &vips->items[i]) != 0)
			abort();
	}
	if (v6)
		faults_warn(faults, "steering",
			"ixgbe has no rules for IPv6: the routers must send %u IPv6 VIP%s to the MAC of the VF", v6,
			v6 == 1 ? "" : "s");
	if (fitting->count + others <= room)
		return 0;
	faults_error(faults, "steering",
		"the table has %u VIPs, and the card %zu other rules, but it has room for %u: use \"next-hop\", which needs none, or merge VIPs to prefixes",
		fitting->count, others, room);
	return -E2BIG;
}

static void plan_difference(
	const struct vf_conf *conf, const struct vf_state *state, const struct vips *vips, struct vf_plan *plan)
{
	const struct vf_rules *now = &state->rules;

	/* New VIPs first, so that no rule is missing while the commands run. */
	for (uint32_t i = 0; i < vips->count; i++) {
		struct netprefix vip = vips_prefix(&vips->items[i]);

		if (has_rule(now, &vip))
			continue;
		if (vf_rules_has_ntuple(state))
			add_ntuple(conf, state, &vip, plan);
		else
			add_tc(state, &vip, plan);
	}
	/* Also if the card has no room for a new one: the next apply has. */
	for (size_t i = 0; i < now->count; i++)
		if (!is_wanted(vips, &now->items[i].vip)) {
			remove_rule(state, &now->items[i], plan);
			plan->steps[plan->count - 1].always = true;
		}
}

static void plan_feature(const char *interface, const char *feature, bool enabled, struct vf_plan *plan)
{
	if (!enabled)
		vf_plan_add(plan, VF_RULES, vf_plan_differs("%s of %s is off", feature, interface),
			"ethtool --features %s %s on", interface, feature);
}

static void plan_qdisc(const char *interface, bool has, struct vf_plan *plan)
{
	if (!has)
		vf_plan_add(plan, VF_RULES, vf_plan_differs("%s has no clsact qdisc", interface),
			"tc qdisc add dev %s clsact", interface);
}

/* What the VF sends arrives at its representor, and leaves by the PF. */
static void plan_out(const struct vf_state *state, const char *protocol, int prio, bool has, struct vf_plan *plan)
{
	if (!has)
		vf_plan_add(plan, VF_RULES, vf_plan_differs("no rule for %s packets that the VF sends", protocol),
			"tc filter add dev %s ingress protocol %s prio %d flower skip_sw action mirred egress redirect dev %s",
			state->representor, protocol, prio, state->interface);
}

static void plan_tc(const struct vf_state *state, struct vf_plan *plan)
{
	const struct vf_rules *now = &state->rules;

	plan_feature(state->interface, "hw-tc-offload", now->enabled, plan);
	plan_feature(state->representor, "hw-tc-offload", now->representor_enabled, plan);
	if (!state->representor_up)
		vf_plan_add(plan, VF_RULES, vf_plan_differs("the representor %s is down", state->representor),
			"ip link set dev %s up", state->representor);
	plan_qdisc(state->interface, now->qdisc, plan);
	plan_qdisc(state->representor, now->representor_qdisc, plan);
	plan_out(state, "ip", VF_RULES_PRIO_V4, now->out_v4, plan);
	plan_out(state, "ipv6", VF_RULES_PRIO_V6, now->out_v6, plan);
}

int vf_rules_plan(const struct vf_conf *conf, const struct vf_state *state, struct vf_plan *plan, struct faults *faults)
{
	struct vips fitting = {0};
	int error;

	if (vf_rules_has_tc(state)) {
		plan_tc(state, plan);
		plan_difference(conf, state, &conf->vips, plan);
		return 0;
	}
	if (!vf_rules_has_ntuple(state)) {
		faults_error(faults, "steering",
			"the driver %s has no rules by address that reach a VF: use \"next-hop\", which works with every card",
			state->driver);
		return -ENOTSUP;
	}
	error = check_ntuple(state, &conf->vips, &fitting, faults);
	if (!error) {
		plan_feature(state->interface, "ntuple", state->rules.enabled, plan);
		plan_difference(conf, state, &fitting, plan);
	}
	vips_free(&fitting);
	return error;
}
