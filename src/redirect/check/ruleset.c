/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/check/ruleset.h"

#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "program/member.h"
#include "program/output_of.h"
#include "program/netlink/netlink.h"

static int count_table(const struct nlmsghdr *message, void *data)
{
	int *tables = data;

	*tables += message->nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE);
	return MNL_CB_OK;
}

static int count_tables(int *tables)
{
	char buf[NETLINK_MAX];
	struct nfgenmsg *header;
	struct nlmsghdr *message = netlink_begin(
		buf, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE, NLM_F_DUMP, sizeof(*header), (void **)&header);
	int error;

	header->version = NFNETLINK_V0;
	*tables = 0;
	error = netlink_dump(NETLINK_NETFILTER, message, count_table, tables);
	/* The kernel has no nftables, or never used them. */
	return error == -EPROTONOSUPPORT || error == -EINVAL || error == -EOPNOTSUPP ? 0 : error;
}

int ruleset_read(json_t **objects, int *tables)
{
	static char *const words[] = {"nft", "-j", "list", "ruleset", NULL};
	size_t size;
	json_t *root;
	char *text;
	int error = count_tables(tables);

	*objects = NULL;
	if (error)
		*tables = -1;
	if (error || !*tables)
		return error;
	error = output_of(words, &text, &size);
	if (error)
		return error;
	root = json_loadb(text, size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	free(text);
	*objects = json_incref(json_object_get(root, "nftables"));
	json_decref(root);
	return json_is_array(*objects) ? 0 : -EBADMSG;
}

const json_t *ruleset_chain(const json_t *object)
{
	return json_object_get(object, "chain");
}

const json_t *ruleset_rule(const json_t *object)
{
	return json_object_get(object, "rule");
}

bool ruleset_has_family(const json_t *object, uint8_t family)
{
	const char *name = member_text(object, "family");

	return strcmp(name, "inet") == 0 || strcmp(name, family == NETADDR_V4 ? "ip" : "ip6") == 0;
}

/* Returns whether the value, or one inside of it, is this text, or an object with this key. */
static bool contains(const json_t *value, const char *wanted)
{
	const json_t *each;
	const char *key;
	size_t i;

	if (json_is_string(value))
		return strcmp(json_string_value(value), wanted) == 0;
	json_array_foreach((json_t *)value, i, each) if (contains(each, wanted)) return true;
	json_object_foreach(
		(json_t *)value, key, each) if (strcmp(key, wanted) == 0 || contains(each, wanted)) return true;
	return false;
}

bool ruleset_uses(const json_t *rule, const char *key)
{
	return contains(json_object_get(rule, "expr"), key);
}

bool ruleset_tracks(const json_t *rule)
{
	/* "conntrack", "state", "connmark": matches of iptables-nft, which nft shows as "xt". */
	static const char *const keys[] = {"ct", "masquerade", "snat", "dnat", "redirect", "ct helper", "conntrack",
		"state", "connmark", "connlimit", "MASQUERADE", "SNAT", "DNAT"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (ruleset_uses(rule, keys[i]))
			return true;
	return false;
}

bool ruleset_drops_invalid(const json_t *rule)
{
	return ruleset_tracks(rule) && ruleset_uses(rule, "invalid") &&
	       (ruleset_uses(rule, "drop") || ruleset_uses(rule, "reject"));
}

/* Returns whether the right side of a match covers the VIP: an address, a prefix, a range, a set of them. */
static enum ruleset_fit address_fits(const json_t *right, const struct netprefix *vip)
{
	const json_t *set = json_object_get(right, "set"), *prefix = json_object_get(right, "prefix"), *each;
	enum ruleset_fit best = RULESET_NEVER;
	struct netprefix range;
	size_t i;

	if (prefix && netaddr_parse(member_text(prefix, "addr"), &range.addr)) {
		range.length = (uint8_t)member_number(prefix, "len");
		return range.length <= vip->length && netprefix_covers(&range, &vip->addr) ? RULESET_ALWAYS
											   : RULESET_NEVER;
	}
	if (json_is_string(right) && netprefix_parse(json_string_value(right), &range, NULL))
		return range.length <= vip->length && netprefix_covers(&range, &vip->addr) ? RULESET_ALWAYS
											   : RULESET_NEVER;
	if (!set)
		return RULESET_SOMETIMES; /* a named set, a range */
	json_array_foreach(set, i, each)
	{
		enum ruleset_fit fit = address_fits(each, vip);

		best = fit > best ? fit : best;
	}
	return best;
}

static enum ruleset_fit invert(enum ruleset_fit fit)
{
	return fit == RULESET_ALWAYS ? RULESET_NEVER : fit == RULESET_NEVER ? RULESET_ALWAYS : RULESET_SOMETIMES;
}

/* Judges a "payload": clients' packets are of the family of the VIP, and neither ICMP nor IGMP. */
static bool protocol_fits(const char *protocol, const struct netprefix *vip)
{
	if (strcmp(protocol, vip->addr.family == NETADDR_V4 ? "ip6" : "ip") == 0)
		return false;
	return strncmp(protocol, "icmp", 4) != 0 && strcmp(protocol, "igmp") != 0;
}

static bool has_port(const struct ruleset_packets *packets, json_int_t first, json_int_t last)
{
	for (size_t i = 0; i < packets->port_count; i++)
		if (packets->ports[i] >= first && packets->ports[i] <= last)
			return true;
	return false;
}

/* The right side of a match of the destination port: a number, a range, a set of them. */
static enum ruleset_fit port_fits(const json_t *right, const struct ruleset_packets *packets)
{
	const json_t *set = json_object_get(right, "set"), *range = json_object_get(right, "range"), *each;
	enum ruleset_fit best = RULESET_NEVER;
	size_t i;

	if (!packets->port_count)
		return RULESET_SOMETIMES;
	if (json_is_integer(right))
		return has_port(packets, json_integer_value(right), json_integer_value(right)) ? RULESET_SOMETIMES
											       : RULESET_NEVER;
	if (range)
		return has_port(packets, json_integer_value(json_array_get(range, 0)),
			       json_integer_value(json_array_get(range, 1)))
			       ? RULESET_SOMETIMES
			       : RULESET_NEVER;
	if (!set)
		return RULESET_SOMETIMES; /* a named set */
	json_array_foreach(set, i, each)
	{
		enum ruleset_fit fit = port_fits(each, packets);

		best = fit > best ? fit : best;
	}
	return best;
}

static enum ruleset_fit meta_fits(const char *key, const json_t *right, const struct ruleset_packets *packets)
{
	const json_t *set = json_object_get(right, "set"), *each;
	const char *text = json_string_value(right);
	enum ruleset_fit best = RULESET_NEVER;
	size_t i;

	json_array_foreach(set, i, each)
	{
		enum ruleset_fit fit = meta_fits(key, each, packets);

		best = fit > best ? fit : best;
	}
	if (!text)
		return set ? best : RULESET_SOMETIMES;
	if ((strcmp(key, "iifname") == 0 && !strchr(text, '*')) || strcmp(key, "iif") == 0)
		return strcmp(text, packets->interface) == 0 ? RULESET_ALWAYS : RULESET_NEVER;
	if (strcmp(key, "l4proto") == 0 && (strstr(text, "icmp") || strcmp(text, "igmp") == 0))
		return RULESET_NEVER;
	if (strcmp(key, "nfproto") == 0)
		return strcmp(text, packets->vip.addr.family == NETADDR_V4 ? "ipv4" : "ipv6") == 0 ? RULESET_ALWAYS
												   : RULESET_NEVER;
	return RULESET_SOMETIMES;
}

/* A member of "expr" with the key "match". */
static enum ruleset_fit match_fits(const json_t *match, const struct ruleset_packets *packets)
{
	const json_t *left = json_object_get(match, "left"), *right = json_object_get(match, "right");
	const json_t *payload = json_object_get(left, "payload"), *meta = json_object_get(left, "meta");
	const char *field = member_text(payload, "field");
	bool differs = strcmp(member_text(match, "op"), "!=") == 0;
	enum ruleset_fit fit = RULESET_SOMETIMES;

	if (payload && !protocol_fits(member_text(payload, "protocol"), &packets->vip))
		return RULESET_NEVER;
	if (strcmp(field, "daddr") == 0)
		fit = address_fits(right, &packets->vip);
	else if (strcmp(field, "dport") == 0 && !differs)
		fit = port_fits(right, packets);
	else if (strcmp(field, "protocol") == 0 || strcmp(field, "nexthdr") == 0)
		fit = meta_fits("l4proto", right, packets);
	else if (meta)
		fit = meta_fits(member_text(meta, "key"), right, packets);
	return differs ? invert(fit) : fit;
}

enum ruleset_fit ruleset_fits(const json_t *rule, const struct ruleset_packets *packets)
{
	enum ruleset_fit worst = ruleset_has_family(rule, packets->vip.addr.family) ? RULESET_ALWAYS : RULESET_NEVER;
	const json_t *expression;
	size_t i;

	json_array_foreach(json_object_get(rule, "expr"), i, expression)
	{
		const json_t *match = json_object_get(expression, "match"), *xt = json_object_get(expression, "xt");
		enum ruleset_fit fit = RULESET_ALWAYS;

		if (match)
			fit = match_fits(match, packets);
		else if (strcmp(member_text(xt, "type"), "match") == 0 || json_object_get(expression, "limit"))
			fit = RULESET_SOMETIMES;
		worst = fit < worst ? fit : worst;
	}
	return worst;
}

bool ruleset_compares(const json_t *rule, const char *field)
{
	const json_t *expression;
	size_t i;

	json_array_foreach(json_object_get(rule, "expr"), i, expression)
	{
		const json_t *left = json_object_get(json_object_get(expression, "match"), "left");

		if (strcmp(member_text(json_object_get(left, "payload"), "field"), field) == 0)
			return true;
	}
	return false;
}
