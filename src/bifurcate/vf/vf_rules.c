/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bifurcate/vf/vf_ask.h"
#include "common/array.h"
#include "program/member.h"
#include "program/output_of.h"

/* Rules of ixgbe's Flow Director: 2^11 - 2 in the driver of the kernel, 2^13 - 2 in Intel's own with the largest
 * FdirPballoc. */
#define IXGBE_ROOM        2046
#define IXGBE_VENDOR_ROOM 8190

static bool has_ntuple(const struct vf_state *state)
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

static void add_rule(struct vf_rules *rules, const struct netprefix *vip, uint32_t id)
{
	struct vf_rule *rule = array_append(&rules->items, &rules->count, sizeof(*rule));

	if (!rule)
		abort();
	*rule = (struct vf_rule){.vip = *vip, .id = id};
}

/* Returns what ethtool prints, or NULL with an error in faults. */
static char *ask_ethtool(const char *option, const char *interface, struct faults *faults)
{
	char *const words[] = {"ethtool", (char *)option, (char *)interface, NULL};
	size_t size;
	char *text;
	int error = output_of(words, &text, &size);

	if (error == -ENOENT)
		faults_error(faults, "ethtool", "there is no such program: install the package ethtool");
	else if (error == -EIO)
		faults_error(
			faults, "ethtool", "'ethtool %s %s' failed: the driver has no such rules", option, interface);
	else if (error)
		faults_error(faults, "ethtool", "'ethtool %s %s' failed: %s", option, interface, output_of_reason(error));
	return text;
}

static bool is_enabled(const char *interface, const char *feature, struct faults *faults)
{
	char *text = ask_ethtool("--show-features", interface, faults), line[64];
	bool enabled;

	snprintf(line, sizeof(line), "\n%s: on", feature);
	enabled = text && strstr(text, line);
	free(text);
	return enabled;
}

/* Turns an address and a mask of ethtool, whose set bits do not matter, into a prefix. False: the mask is no prefix. */
static bool prefix_of(const char *address, const char *mask, struct netprefix *vip)
{
	struct netaddr ignored;
	uint32_t bits = 0;

	if (!netaddr_parse(address, &vip->addr) || !netaddr_parse(mask, &ignored) || ignored.family != NETADDR_V4)
		return false;
	for (int i = 0; i < 4; i++)
		bits = bits << 8 | ignored.bytes[i];
	if (bits & (bits + 1))
		return false;
	vip->length = bits ? (uint8_t)__builtin_clz(bits) : 32;
	return true;
}

static bool read_ntuple(const struct vf_state *state, unsigned vf, struct vf_rules *rules, struct faults *faults)
{
	char *text, *rest, *line, address[64], mask[64];
	struct netprefix vip;
	bool has_vip = false, is_raw = false; /* raw: of all protocols */
	unsigned id = 0, target;

	rules->enabled = is_enabled(state->interface, "ntuple-filters", faults);
	text = rest = rules->enabled ? ask_ethtool("--show-ntuple", state->interface, faults) : NULL;
	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "Filter: %u", &id) == 1) {
			has_vip = is_raw = false;
			rules->total++;
		} else if (strstr(line, "Rule Type: Raw IPv4"))
			is_raw = true;
		else if (sscanf(line, " Dest IP addr: %63s mask: %63s", address, mask) == 2)
			has_vip = is_raw && prefix_of(address, mask, &vip);
		else if (sscanf(line, " Action: Direct to VF %u", &target) == 1 && target == vf && has_vip)
			add_rule(rules, &vip, id);
	}
	free(text);
	return !faults->errors;
}

static bool has_qdisc(const char *interface, struct faults *faults)
{
	char *const words[] = {"tc", "-json", "qdisc", "show", "dev", (char *)interface, NULL};
	json_t *list = vf_ask(words, faults);
	const json_t *qdisc;
	bool found = false;
	size_t i;

	json_array_foreach(list, i, qdisc)
	{
		const char *kind = json_string_value(json_object_get(qdisc, "kind"));

		found |= kind && strcmp(kind, "clsact") == 0;
	}
	json_decref(list);
	return found;
}

/* Takes a filter that redirects to `device`. */
static void take_filter(const json_t *filter, const char *device, struct vf_rules *rules, bool out)
{
	const json_t *options = json_object_get(filter, "options");
	const json_t *action = json_array_get(json_object_get(options, "actions"), 0);
	const char *to = json_string_value(json_object_get(action, "to_dev"));
	const char *text = json_string_value(json_object_get(json_object_get(options, "keys"), "dst_ip"));
	json_int_t prio = member_number(filter, "pref");
	struct netprefix vip;

	if (!to || strcmp(to, device) != 0 || (prio != VF_RULES_PRIO_V4 && prio != VF_RULES_PRIO_V6))
		return;
	if (out && prio == VF_RULES_PRIO_V4)
		rules->out_v4 = true;
	else if (out)
		rules->out_v6 = true;
	else if (text && netprefix_parse(text, &vip, NULL))
		add_rule(rules, &vip, (uint32_t)member_number(options, "handle"));
}

static void read_filters(
	const char *interface, const char *device, bool out, struct vf_rules *rules, struct faults *faults)
{
	char *const words[] = {"tc", "-json", "filter", "show", "dev", (char *)interface, "ingress", NULL};
	json_t *list = vf_ask(words, faults);
	const json_t *filter;
	size_t i;

	json_array_foreach(list, i, filter) take_filter(filter, device, rules, out);
	json_decref(list);
}

static bool read_tc(const struct vf_state *state, struct vf_rules *rules, struct faults *faults)
{
	const char *pf = state->interface, *vf = state->representor;

	rules->enabled = is_enabled(pf, "hw-tc-offload", faults);
	rules->qdisc = has_qdisc(pf, faults);
	if (!*vf)
		return !faults->errors;
	rules->representor_enabled = is_enabled(vf, "hw-tc-offload", faults);
	rules->representor_qdisc = has_qdisc(vf, faults);
	if (rules->qdisc)
		read_filters(pf, vf, false, rules, faults);
	if (rules->representor_qdisc)
		read_filters(vf, pf, true, rules, faults);
	return !faults->errors;
}

bool vf_rules_read(struct vf_state *state, unsigned vf, struct faults *faults)
{
	struct vf_rules *rules = &state->rules;
	bool done = true;

	if (has_ntuple(state))
		done = read_ntuple(state, vf, rules, faults);
	else if (vf_rules_has_tc(state))
		done = read_tc(state, rules, faults);
	if (!done)
		vf_rules_free(rules);
	return done;
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

static void add_ntuple(
	const struct vf_conf *conf, const struct vf_state *state, const struct netprefix *vip, struct vf_plan *plan)
{
	char text[NETADDR_TEXT_MAX], mask[32] = "";
	uint32_t ignored = vip->length == 0 ? UINT32_MAX : (uint32_t)((UINT64_C(1) << (32 - vip->length)) - 1);

	/* Bits that are set in the mask of ethtool do not matter. */
	if (ignored)
		snprintf(mask, sizeof(mask), " m %u.%u.%u.%u", ignored >> 24, ignored >> 16 & 255, ignored >> 8 & 255,
			ignored & 255);
	vf_plan_add(plan, VF_RULES, vf_plan_differs("no rule for %s", netaddr_format(&vip->addr, text)),
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
	if (has_ntuple(state))
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
static bool check_ntuple(
	const struct vf_state *state, const struct vips *vips, struct vips *fitting, struct faults *faults)
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
			return false;
		}
		if (vips_add(fitting, &vips->items[i]) != 0)
			abort();
	}
	if (v6)
		faults_warn(faults, "steering",
			"ixgbe has no rules for IPv6: the routers must send %u IPv6 VIP%s to the MAC of the VF", v6,
			v6 == 1 ? "" : "s");
	if (fitting->count + others <= room)
		return true;
	faults_error(faults, "steering",
		"the table has %zu VIPs, and the card %zu other rules, but it has room for %u: use \"next-hop\", which needs none, or merge VIPs to prefixes",
		fitting->count, others, room);
	return false;
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
		if (has_ntuple(state))
			add_ntuple(conf, state, &vip, plan);
		else
			add_tc(state, &vip, plan);
	}
	/* Also if the card has no room for a new one: the next apply has. */
	for (size_t i = 0; i < now->count; i++) {
		struct bifurcate_prefix key = vips_key(&now->items[i].vip);

		if (vips_has(vips, &key))
			continue;
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

bool vf_rules_plan(const struct vf_conf *conf, const struct vf_state *state, struct vf_plan *plan, struct faults *faults)
{
	struct vips fitting = {0};
	bool fits;

	if (vf_rules_has_tc(state)) {
		plan_tc(state, plan);
		plan_difference(conf, state, &conf->vips, plan);
		return true;
	}
	if (!has_ntuple(state)) {
		faults_error(faults, "steering",
			"the driver %s has no rules by address that reach a VF: use \"next-hop\", which works with every card",
			state->driver);
		return false;
	}
	fits = check_ntuple(state, &conf->vips, &fitting, faults);
	if (fits) {
		plan_feature(state->interface, "ntuple", state->rules.enabled, plan);
		plan_difference(conf, state, &fitting, plan);
	}
	vips_free(&fitting);
	return fits;
}
