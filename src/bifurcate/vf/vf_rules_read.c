/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bifurcate/vf/vf_ask.h"
#include "bifurcate/vf/vf_rules.h"
#include "program/output_of.h"

static void add_rule(struct vf_rules *rules, const struct netprefix *vip, uint32_t id)
{
	struct vf_rule *items = reallocarray(rules->items, rules->count + 1, sizeof(*items));

	if (!items)
		abort();
	rules->items = items;
	items[rules->count++] = (struct vf_rule){.vip = *vip, .id = id};
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

static int read_ntuple(const struct vf_state *state, unsigned vf, struct vf_rules *rules, struct faults *faults)
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
	return faults->errors ? -EIO : 0;
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
	json_int_t prio = json_integer_value(json_object_get(filter, "pref"));
	struct netprefix vip;

	if (!to || strcmp(to, device) != 0 || (prio != VF_RULES_PRIO_V4 && prio != VF_RULES_PRIO_V6))
		return;
	if (out && prio == VF_RULES_PRIO_V4)
		rules->out_v4 = true;
	else if (out)
		rules->out_v6 = true;
	else if (text && netprefix_parse(text, &vip, NULL))
		add_rule(rules, &vip, (uint32_t)json_integer_value(json_object_get(options, "handle")));
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

static int read_tc(const struct vf_state *state, struct vf_rules *rules, struct faults *faults)
{
	const char *pf = state->interface, *vf = state->representor;

	rules->enabled = is_enabled(pf, "hw-tc-offload", faults);
	rules->qdisc = has_qdisc(pf, faults);
	if (!*vf)
		return faults->errors ? -EIO : 0;
	rules->representor_enabled = is_enabled(vf, "hw-tc-offload", faults);
	rules->representor_qdisc = has_qdisc(vf, faults);
	if (rules->qdisc)
		read_filters(pf, vf, false, rules, faults);
	if (rules->representor_qdisc)
		read_filters(vf, pf, true, rules, faults);
	return faults->errors ? -EIO : 0;
}

int vf_rules_read(struct vf_state *state, unsigned vf, struct faults *faults)
{
	struct vf_rules *rules = &state->rules;
	int error = 0;

	if (vf_rules_has_ntuple(state))
		error = read_ntuple(state, vf, rules, faults);
	else if (vf_rules_has_tc(state))
		error = read_tc(state, rules, faults);
	if (error)
		vf_rules_free(rules);
	return error;
}
