/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of packet filters and connection tracking, which see only the inner packets. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "redirect/check/check.h"
#include "program/output_of.h"
#include "redirect/check/ruleset.h"

#define SSH_PORT     22
#define RAW_PRIORITY -200 /* chains with a lower one run before connection tracking */

static const char *reason(int error)
{
	if (error == -ENOENT)
		return "nft is not installed";
	return error == -EBADMSG ? "it did not print JSON" : output_of_reason(error);
}

/* Adds a finding if the rules are not known. Returns whether there are rules to examine. */
static bool has_rules(struct check *check)
{
	const struct check_subject *subject = check->subject;

	if (!subject->ruleset_error) {
		if (!subject->ruleset)
			check_add(check, FINDINGS_OK, "", NULL, "there are no nftables");
		return subject->ruleset;
	}
	if (subject->ruleset_tables < 0)
		check_add(check, FINDINGS_WARN, "nftables", NULL, "not known: the kernel does not list its tables: %s",
			strerror(-subject->ruleset_error));
	else
		check_add(check, FINDINGS_WARN, "nftables", NULL,
			"not known: there are %d tables, but 'nft -j list ruleset' failed: %s", subject->ruleset_tables,
			reason(subject->ruleset_error));
	return false;
}

static bool is_in_chain(const json_t *rule, const json_t *chain)
{
	return strcmp(ruleset_text(rule, "family"), ruleset_text(chain, "family")) == 0 &&
	       strcmp(ruleset_text(rule, "table"), ruleset_text(chain, "table")) == 0 &&
	       strcmp(ruleset_text(rule, "chain"), ruleset_text(chain, "name")) == 0;
}

/* Returns whether the rule is for packets that connection tracking knows only, so not for those that open a
 * connection. */
static bool is_for_known_connections(const json_t *rule)
{
	return ruleset_uses(rule, "established") && !ruleset_uses(rule, "new") && !ruleset_uses(rule, "untracked");
}

/* Returns whether the base chain drops every packet for the VIP. If another chain decides, it does not. */
static bool drops(const struct check_subject *subject, const json_t *chain, const struct ruleset_packets *packets)
{
	const json_t *object;
	size_t i;

	json_array_foreach(subject->ruleset, i, object)
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
	return strcmp(ruleset_text(chain, "policy"), "drop") == 0;
}

/* The ports of the services on the VIPs. SSH on all addresses is for operators. */
static void set_packets(const struct check_subject *subject, const struct netprefix *vip, struct ruleset_packets *packets)
{
	*packets = (struct ruleset_packets){.vip = *vip, .interface = subject->ip->name};
	for (size_t i = 0; i < subject->sockets.count && packets->port_count < RULESET_MAX_PORTS; i++) {
		const struct diag_socket *socket = &subject->sockets.items[i];

		if (!socket->connected && socket->port != SSH_PORT && sockets_serve_vip(socket, subject))
			packets->ports[packets->port_count++] = socket->port;
	}
}

static bool receives(const json_t *chain)
{
	const char *hook = ruleset_text(chain, "hook");

	return strcmp(hook, "input") == 0 || strcmp(hook, "prerouting") == 0;
}

static void report_drop(struct check *check, const json_t *chain, const struct netprefix *vip)
{
	char command[FINDINGS_COMMAND_MAX], text[NETPREFIX_TEXT_MAX];
	const char *family = ruleset_text(chain, "family"), *table = ruleset_text(chain, "table"),
		   *name = ruleset_text(chain, "name");

	netprefix_format(vip, text);
	snprintf(command, sizeof(command), "nft insert rule %s %s %s %s daddr %s accept", family, table, name,
		vip->addr.family == NETADDR_V4 ? "ip" : "ip6", text);
	check_add(check, FINDINGS_FAIL, text, command, "chain %s of the table %s %s drops all packets for it", name,
		family, table);
}

void check_firewall(struct check *check)
{
	const struct check_subject *subject = check->subject;
	struct ruleset_packets packets;
	bool reported = false;
	const json_t *object;
	size_t i;

	if (!has_rules(check))
		return;
	json_array_foreach(subject->ruleset, i, object)
	{
		const json_t *chain = ruleset_chain(object);

		for (size_t j = 0; chain && receives(chain) && j < subject->vips.count; j++) {
			set_packets(subject, &subject->vips.items[j], &packets);
			if (ruleset_has_family(chain, packets.vip.addr.family) && drops(subject, chain, &packets)) {
				report_drop(check, chain, &packets.vip);
				reported = true;
			}
		}
	}
	if (!reported)
		check_add(check, FINDINGS_OK, "", NULL, "no chain of nftables drops all packets for a VIP");
}

/* Returns whether the rule is in a chain that incoming packets pass before connection tracking. */
static bool is_before_tracking(const struct check_subject *subject, const json_t *rule)
{
	const json_t *object;
	size_t i;

	json_array_foreach(subject->ruleset, i, object)
	{
		const json_t *chain = ruleset_chain(object);

		if (chain && is_in_chain(rule, chain))
			return strcmp(ruleset_text(chain, "hook"), "prerouting") == 0 &&
			       json_integer_value(json_object_get(chain, "prio")) < RAW_PRIORITY;
	}
	return false;
}

/* Returns whether the rule is for the VIP, perhaps by a named set or only for some ports. */
static bool is_for_vip(const struct check_subject *subject, const json_t *rule, const struct netprefix *vip)
{
	struct ruleset_packets packets;
	enum ruleset_fit fit;

	set_packets(subject, vip, &packets);
	fit = ruleset_fits(rule, &packets);
	return fit == RULESET_ALWAYS || (fit == RULESET_SOMETIMES && ruleset_compares(rule, "daddr"));
}

/* "CT" and "NOTRACK": targets of iptables-nft. */
static bool exempts(const struct check_subject *subject, const json_t *rule, const struct netprefix *vip)
{
	return (ruleset_uses(rule, "notrack") || ruleset_uses(rule, "CT") || ruleset_uses(rule, "NOTRACK")) &&
	       is_before_tracking(subject, rule) && is_for_vip(subject, rule, vip);
}

bool firewall_translates(const struct check_subject *subject, const struct netprefix *vip)
{
	static const char *const targets[] = {"dnat", "redirect", "tproxy", "DNAT", "REDIRECT", "TPROXY"};
	const json_t *object;
	size_t i;

	json_array_foreach(subject->ruleset, i,
		object) for (size_t j = 0; j < sizeof(targets) / sizeof(targets[0]);
			     j++) if (ruleset_rule(object) && ruleset_uses(ruleset_rule(object), targets[j]) &&
				      is_for_vip(subject, ruleset_rule(object), vip)) return true;
	return false;
}

/* Adds a finding if connection tracking sees packets for the VIP. Returns whether it did. */
static bool report_tracking(struct check *check, const struct netprefix *vip)
{
	const struct check_subject *subject = check->subject;
	const char *word = vip->addr.family == NETADDR_V4 ? "ip" : "ip6";
	char command[FINDINGS_COMMAND_MAX], text[NETPREFIX_TEXT_MAX];
	const json_t *object, *tracking = NULL;
	bool drops_invalid = false;
	size_t i;

	json_array_foreach(subject->ruleset, i, object)
	{
		const json_t *rule = ruleset_rule(object);

		if (!rule || !ruleset_has_family(rule, vip->addr.family))
			continue;
		if (exempts(subject, rule, vip))
			return false;
		if (!tracking && ruleset_tracks(rule) && !ruleset_uses(rule, "CT"))
			tracking = rule;
		drops_invalid |= ruleset_drops_invalid(rule);
	}
	if (!tracking)
		return false;
	netprefix_format(vip, text);
	snprintf(command, sizeof(command),
		"nft 'add table inet glb; add chain inet glb pre { type filter hook prerouting priority raw; }; add chain inet glb out { type filter hook output priority raw; }; add rule inet glb pre %s daddr %s notrack; add rule inet glb out %s saddr %s notrack'",
		word, text, word, text);
	check_add(check, drops_invalid ? FINDINGS_FAIL : FINDINGS_WARN, text, command,
		"the table %s %s tracks its connections: %s", ruleset_text(tracking, "family"),
		ruleset_text(tracking, "table"),
		drops_invalid
			? "packets of connections that it did not see from their start are invalid and dropped"
			: "packets of connections that it did not see from their start are invalid, and its table can fill up");
	return true;
}

void check_conntrack(struct check *check)
{
	const struct check_subject *subject = check->subject;
	bool reported = false;

	/* check_firewall() says so if the rules are not known. */
	for (size_t i = 0; subject->ruleset && i < subject->vips.count; i++)
		reported |= report_tracking(check, &subject->vips.items[i]);
	if (!reported && !subject->ruleset_error)
		check_add(check, FINDINGS_OK, "", NULL, "no rule of nftables tracks connections to the VIPs");
}

/* Returns the number of rules that legacy iptables have in the kernel, or -1 if it is not known. *tables: whether it
 * has any. */
static int count_legacy(const char *names, char *program, bool *tables)
{
	char *words[] = {program, NULL}, *text, line[128] = "";
	FILE *file = fopen(names, "re");
	size_t size;
	int rules = 0;

	*tables = file && fgets(line, sizeof(line), file);
	if (file)
		fclose(file);
	if (!*tables)
		return 0;
	if (output_of(words, &text, &size) != 0)
		return -1;
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		rules += strncmp(at, "-A ", 3) == 0 || (*at == ':' && strcspn(at, "\n") > 6 && strstr(at, " DROP ") &&
							       strstr(at, " DROP ") < at + strcspn(at, "\n"));
	free(text);
	return rules;
}

void check_iptables(struct check *check)
{
	static const struct {
		const char *names;
		char *program;
	} families[] = {
		{"/proc/self/net/ip_tables_names", "iptables-legacy-save"},
		{"/proc/self/net/ip6_tables_names", "ip6tables-legacy-save"},
	};
	bool reported = false, tables;

	for (size_t i = 0; i < 2; i++) {
		int rules = count_legacy(families[i].names, families[i].program, &tables);

		if (!rules)
			continue;
		reported = true;
		if (rules < 0)
			check_add(check, FINDINGS_WARN, families[i].program, NULL,
				"not known: the kernel has tables of legacy iptables, but this program failed or is not installed");
		else
			check_add(check, FINDINGS_WARN, families[i].program, NULL,
				"legacy iptables have %d rule%s, which this check does not understand: see that they neither drop nor track packets for the VIPs",
				rules, text_plural((uint64_t)rules));
	}
	if (!reported)
		check_add(check, FINDINGS_OK, "", NULL, "legacy iptables have no rules");
}
