/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/config/redirect_conf.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_reader.h"
#include "gue/gue_wire.h"

/* Returns why directors and proxies have no outer address of the IPv6 prefix, or NULL. */
static const char *unusable_outside(const struct netprefix *prefix)
{
	if (netaddr_is_mapped(&prefix->addr))
		return "is an IPv4-mapped address; write the IPv4 address";
	if (netaddr_is_link_local(&prefix->addr))
		return "is link-local, but directors and proxies send to and from addresses that are not";
	if (prefix->length == 128 && !netaddr_is_unicast(&prefix->addr))
		return "is not a unicast address of another host";
	return NULL;
}

static bool read_prefix(struct conf_reader *reader, const config_setting_t *at, bool is_outer, struct netprefix *prefix)
{
	const char *reason;

	if (!conf_read_prefix(reader, at, prefix))
		return false;
	reason = is_outer ? unusable_outside(prefix) : NULL;
	if (reason)
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "%s", reason);
	return !reason;
}

static void read_list(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, bool is_outer,
	struct redirect_prefixes *prefixes)
{
	unsigned count = conf_list_length(reader, at, key);

	prefixes->any = false;
	prefixes->items = conf_allocate(reader, at, count, sizeof(*prefixes->items));
	for (unsigned i = 0; prefixes->items && i < count; i++)
		if (read_prefix(reader, config_setting_get_elem(at, i), is_outer, &prefixes->items[prefixes->count]))
			prefixes->count++;
}

/* Also reads next_hops, which may be empty: this host then passes no packet on. */
static void read_senders(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	if (key->min && conf_is_list(at) && config_setting_length(at) == 0)
		conf_error(reader, at, NULL,
			"is empty, so this host would accept no packet; name the directors and the proxies");
	else
		read_list(reader, at, key, true, field);
}

static void read_allow_to(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct redirect_conf *conf = field;

	conf->allow_to_local = conf_is_word(at, "local");
	if (conf_is_list(at) && config_setting_length(at) == 0)
		conf_error(reader, at, NULL,
			"is empty, so this host would accept no packet; name the VIPs, or write \"local\"");
	else if (config_setting_get_string(at) && !conf->allow_to_local)
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "%s", key->expected);
	else if (!conf->allow_to_local)
		read_list(reader, at, key, false, &conf->allow_to);
}

#define AT(member) .offset = offsetof(struct redirect_conf, member)

const struct conf_key redirect_conf_keys[] = {
	{"allow_from", read_senders, AT(allow_from), .min = 1, .max = INT_MAX,
		.expected = "is not a list like [\"192.0.2.0/24\", \"198.51.100.7\"]"},
	{"allow_to", read_allow_to, 0, "\"local\"", 1, INT_MAX,
		.expected = "is neither \"local\" nor a list like [\"203.0.113.10\", \"2001:db8::/64\"]"},
	{"next_hops", read_senders, AT(next_hops), .max = INT_MAX, .expected = "is not a list like [\"192.0.2.0/24\"]"},
	{"max_hops", conf_read_unsigned, AT(max_hops), "8", 0, GUE_MAX_LATER_HOPS},
	{"quic_table", conf_read_string, AT(quic.table), .fault = conf_path_fault},
	{"quic", redirect_quic_read_list, AT(quic), .keys = redirect_quic_keys, .min = 1, .max = QUIC_MAX_CONFIGS,
		.expected =
			"is not a list like ( { id = 0; server_id_length = 3; nonce_length = 8; server_id = \"ed793a\"; } )"},
	{0},
};

/* next_hops is allow_from by default. */
static void copy_allow_from(struct conf_reader *reader, const config_setting_t *root, struct redirect_conf *conf)
{
	struct redirect_prefixes *to = &conf->next_hops;

	*to = conf->allow_from;
	if (to->any)
		return;
	to->items = calloc(to->count, sizeof(*to->items));
	if (to->items)
		memcpy(to->items, conf->allow_from.items, to->count * sizeof(*to->items));
	else
		conf_error(reader, root, NULL, "out of memory");
}

static void warn_of_any(struct conf_reader *reader, const config_setting_t *root, const struct redirect_conf *conf)
{
	const struct redirect_prefixes *from = &conf->allow_from;
	char text[NETPREFIX_TEXT_MAX];

	for (size_t i = 0; i < from->count; i++)
		if (from->items[i].length == 0)
			conf_warn(reader, config_setting_get_member(root, "allow_from"), NULL,
				"has %s, so this host accepts packets from any sender",
				netprefix_format(&from->items[i], text));
}

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	struct redirect_conf *conf = reader->conf;
	size_t errors = reader->faults->errors;

	conf_read_group(reader, root, redirect_conf_keys, conf);
	if (conf->quic.table)
		redirect_quic_read_table(reader, config_setting_get_member(root, "quic_table"), &conf->quic);
	if (reader->faults->errors != errors)
		return;
	if (!config_setting_get_member(root, "next_hops"))
		copy_allow_from(reader, root, conf);
	if (conf->allow_from.any)
		conf_warn(reader, root, "allow_from", "missing, so this host accepts packets from any sender");
	warn_of_any(reader, root, conf);
}

void redirect_conf_init(struct redirect_conf *conf)
{
	*conf = (struct redirect_conf){.allow_from.any = true, .next_hops.any = true};
	conf_set_defaults(redirect_conf_keys, conf);
}

int redirect_conf_read(const char *path, struct redirect_conf *conf, struct faults *faults)
{
	struct conf_reader reader = {.conf = conf, .faults = faults};

	redirect_conf_init(conf);
	return conf_read_file(path, &reader, read_root);
}

void redirect_conf_free(struct redirect_conf *conf)
{
	free(conf->allow_from.items);
	free(conf->allow_to.items);
	free(conf->next_hops.items);
	redirect_quic_free(&conf->quic);
	redirect_conf_init(conf);
}
