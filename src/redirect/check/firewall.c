/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of packet filters and connection tracking, which see only the inner packets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "redirect/check/check.h"
#include "program/host/host.h"
#include "program/member.h"
#include "program/output_of.h"
#include "redirect/check/ruleset.h"

#define SSH_PORT     22
#define RAW_PRIORITY -200 /* chains with a lower one run before connection tracking */

#define NOTRACK \
	"nft 'add table inet glb; add chain inet glb pre { type filter hook prerouting priority raw; }; add chain inet glb out { type filter hook output priority raw; }; add rule inet glb pre {1} daddr {0} notrack; add rule inet glb out {1} saddr {0} notrack'"

static const struct finding no_tables = {FINDINGS_WARN, NULL, "not known: the kernel does not list its tables: {1}"};
static const struct finding no_rules = {
	FINDINGS_WARN, NULL, "not known: there are {1} tables, but 'nft -j list ruleset' failed: {2}"};
static const struct finding all_dropped = {FINDINGS_FAIL, "nft insert rule {1} {2} {3} {4} daddr {0} accept",
	"chain {3} of the table {1} {2} drops all packets for it"};
static const struct finding tracked = {FINDINGS_WARN, NOTRACK,
	"the table {2} {3} tracks its connections: packets of connections that it did not see from their start are invalid, and its table can fill up"};
static const struct finding tracked_and_dropped = {FINDINGS_FAIL, NOTRACK,
	"the table {2} {3} tracks its connections: packets of connections that it did not see from their start are invalid and dropped"};
static const struct finding legacy_unknown = {FINDINGS_WARN, NULL,
	"not known: the kernel has tables of legacy iptables, but this program failed or is not installed"};
static const struct finding legacy = {FINDINGS_WARN, NULL,
	"legacy iptables have {1} rule{2}, which this check does not understand: see that they neither drop nor track packets for the VIPs"};

static const char *reason(int error)
{
	if (error == -ENOENT)
		return "nft is not installed";
	return error == -EBADMSG ? "it did not print JSON" : output_of_reason(error);
}

/* Adds a finding if the rules are not known. Returns whether there are rules to examine. */
static bool has_rules(const struct check *check)
{
	if (!check->ruleset_error && !check->ruleset)
		findings_ok("", "there are no nftables");
	else if (check->ruleset_error && check->ruleset_tables < 0)
		findings_add(&no_tables, "nftables", strerror(-check->ruleset_error));
	else if (check->ruleset_error)
		findings_add(&no_rules, "nftables", findings_value("%d", check->ruleset_tables),
			reason(check->ruleset_error));
	return findings_none();
}

static bool is_in_chain(const json_t *rule, const json_t *chain)
{
	return strcmp(member_text(rule, "family"), member_text(chain, "family")) == 0 &&
	       strcmp(member_text(rule, "table"), member_text(chain, "table")) == 0 &&
	       strcmp(member_text(rule, "chain"), member_text(chain, "name")) == 0;
}

/* Returns whether the rule is for packets that connection tracking knows only, so not for those that open a
 * connection. */
static bool is_for_known_connections(const json_t *rule)
{
	return ruleset_uses(rule, "established") && !ruleset_uses(rule, "new") && !ruleset_uses(rule, "untracked");
}

/* Returns whether the base chain drops every packet for the VIP. If another chain decides, it does not. */
static bool drops(const struct check *check, const json_t *chain, const struct ruleset_packets *packets)
{
	const json_t *object;
	size_t i;

	json_array_foreach(check->ruleset, i, object)
	{
		const json_t *rule = ruleset_rule(object);
		enum ruleset_fit fit;

		if (!rule || !is_in_chain(rule, chain))
			continue;
		fit = ruleset_fits(rule, packets);
		if (fit == RULESET_NEVER || (ruleset_uses(rule, "vmap") && ruleset_uses(rule, "ct")))
			continue;
		if (ruleset_uses(rule, "jump") || ruleset_uses(rule, "goto") || ruleset_uses(rule, "vmap"))
			return false;
		if (ruleset_uses(rule, "accept") && !is_for_known_connections(rule))
			return false;
		if (fit == RULESET_ALWAYS && (ruleset_uses(rule, "drop") || ruleset_uses(rule, "reject")))
			return true;
	}
	return strcmp(member_text(chain, "policy"), "drop") == 0;
}

/* The ports of the services on the VIPs. SSH on all addresses is for operators. */
static void set_packets(const struct check *check, const struct netprefix *vip, struct ruleset_packets *packets)
{
	*packets = (struct ruleset_packets){.vip = *vip, .interface = check->ip->name};
	for (size_t i = 0; i < check->sockets.count && packets->port_count < RULESET_MAX_PORTS; i++) {
		const struct diag_socket *socket = &check->sockets.items[i];

		if (!socket->connected && socket->port != SSH_PORT && sockets_serve_vip(socket, check))
			packets->ports[packets->port_count++] = socket->port;
	}
}

static bool receives(const json_t *chain)
{
	const char *hook = member_text(chain, "hook");

	return strcmp(hook, "input") == 0 || strcmp(hook, "prerouting") == 0;
}

static const char *protocol_of(const struct netprefix *vip)
{
	return vip->addr.family == NETADDR_V4 ? "ip" : "ip6";
}

void check_firewall(void *subject)
{
	const struct check *check = subject;
	struct ruleset_packets packets;
	char text[NETPREFIX_TEXT_MAX];
	const json_t *object;
	size_t i;

	if (!has_rules(check))
		return;
	json_array_foreach(check->ruleset, i, object)
	{
		const json_t *chain = ruleset_chain(object);

		for (size_t j = 0; chain && receives(chain) && j < check->vips.count; j++) {
			set_packets(check, &check->vips.items[j], &packets);
			if (ruleset_has_family(chain, packets.vip.addr.family) && drops(check, chain, &packets))
				findings_add(&all_dropped, netprefix_format(&packets.vip, text),
					member_text(chain, "family"), member_text(chain, "table"),
					member_text(chain, "name"), protocol_of(&packets.vip));
		}
	}
	if (findings_none())
		findings_ok("", "no chain of nftables drops all packets for a VIP");
}

/* Returns whether the rule is in a chain that incoming packets pass before connection tracking. */
static bool is_before_tracking(const struct check *check, const json_t *rule)
{
	const json_t *object;
	size_t i;

	json_array_foreach(check->ruleset, i, object)
	{
		const json_t *chain = ruleset_chain(object);

		if (chain && is_in_chain(rule, chain))
			return strcmp(member_text(chain, "hook"), "prerouting") == 0 &&
			       member_number(chain, "prio") < RAW_PRIORITY;
	}
	return false;
}

/* Returns whether the rule is for the VIP, perhaps by a named set or only for some ports. */
static bool is_for_vip(const struct check *check, const json_t *rule, const struct netprefix *vip)
{
	struct ruleset_packets packets;
	enum ruleset_fit fit;

	set_packets(check, vip, &packets);
	fit = ruleset_fits(rule, &packets);
	return fit == RULESET_ALWAYS || (fit == RULESET_SOMETIMES && ruleset_compares(rule, "daddr"));
}

/* "CT" and "NOTRACK": targets of iptables-nft. */
static bool exempts(const struct check *check, const json_t *rule, const struct netprefix *vip)
{
	return (ruleset_uses(rule, "notrack") || ruleset_uses(rule, "CT") || ruleset_uses(rule, "NOTRACK")) &&
	       is_before_tracking(check, rule) && is_for_vip(check, rule, vip);
}

bool firewall_translates(const struct check *check, const struct netprefix *vip)
{
	static const char *const targets[] = {"dnat", "redirect", "tproxy", "DNAT", "REDIRECT", "TPROXY"};
	const json_t *object;
	size_t i;

	json_array_foreach(check->ruleset, i,
		object) for (size_t j = 0; j < sizeof(targets) / sizeof(targets[0]);
			     j++) if (ruleset_rule(object) && ruleset_uses(ruleset_rule(object), targets[j]) &&
				      is_for_vip(check, ruleset_rule(object), vip)) return true;
	return false;
}

/* Adds a finding if connection tracking sees packets for the VIP. */
static void report_tracking(const struct check *check, const struct netprefix *vip)
{
	const json_t *object, *tracking = NULL;
	char text[NETPREFIX_TEXT_MAX];
	bool drops_invalid = false;
	size_t i;

	json_array_foreach(check->ruleset, i, object)
	{
		const json_t *rule = ruleset_rule(object);

		if (!rule || !ruleset_has_family(rule, vip->addr.family))
			continue;
		if (exempts(check, rule, vip))
			return;
		if (!tracking && ruleset_tracks(rule) && !ruleset_uses(rule, "CT"))
			tracking = rule;
		drops_invalid |= ruleset_drops_invalid(rule);
	}
	if (tracking)
		findings_add(drops_invalid ? &tracked_and_dropped : &tracked, netprefix_format(vip, text),
			protocol_of(vip), member_text(tracking, "family"), member_text(tracking, "table"));
}

void check_conntrack(void *subject)
{
	const struct check *check = subject;

	/* check_firewall() says so if the rules are not known. */
	for (size_t i = 0; check->ruleset && i < check->vips.count; i++)
		report_tracking(check, &check->vips.items[i]);
	if (findings_none() && !check->ruleset_error)
		findings_ok("", "no rule of nftables tracks connections to the VIPs");
}

/* Returns the number of rules that legacy iptables have in the kernel, or -1 if it is not known. */
static int count_legacy(const char *names, char *program)
{
	char *words[] = {program, NULL}, *text, line[HOST_LINE_MAX];
	size_t size;
	int rules = 0;

	if (!host_line(names, line))
		return 0;
	if (output_of(words, &text, &size) != 0)
		return -1;
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		rules += strncmp(at, "-A ", 3) == 0 || (*at == ':' && strcspn(at, "\n") > 6 && strstr(at, " DROP ") &&
							       strstr(at, " DROP ") < at + strcspn(at, "\n"));
	free(text);
	return rules;
}

void check_iptables(void *)
{
	static const struct {
		const char *names;
		char *program;
	} families[] = {
		{"/proc/self/net/ip_tables_names", "iptables-legacy-save"},
		{"/proc/self/net/ip6_tables_names", "ip6tables-legacy-save"},
	};

	for (size_t i = 0; i < 2; i++) {
		int rules = count_legacy(families[i].names, families[i].program);

		if (rules)
			findings_add(rules < 0 ? &legacy_unknown : &legacy, families[i].program,
				findings_value("%d", rules), text_plural((uint64_t)rules));
	}
	if (findings_none())
		findings_ok("", "legacy iptables have no rules");
}
