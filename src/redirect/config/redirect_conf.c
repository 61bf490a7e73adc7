/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/config/redirect_conf.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf_reader.h"
#include "gue/gue_wire.h"

/* Reads one prefix. Of `family` only, unless that is NETADDR_NONE. */
static bool read_prefix(
	struct conf_reader *reader, const config_setting_t *at, enum netaddr_family family, struct netprefix *prefix)
{
	char value[CONF_VALUE_MAX];

	if (!conf_read_prefix(reader, at, prefix))
		return false;
	if (family && prefix->addr.family != family) {
		conf_error(reader, at, NULL, "%s is not IPv4, but directors and proxies send to IPv4 addresses only",
			conf_value(at, CONFIG_TYPE_STRING, value));
		return false;
	}
	return true;
}

static void read_list(struct conf_reader *reader, const config_setting_t *at, enum netaddr_family family,
	struct redirect_prefixes *prefixes)
{
	int count = config_setting_length(at);

	prefixes->any = false;
	prefixes->items = calloc((size_t)count + 1, sizeof(*prefixes->items));
	if (!prefixes->items) {
		conf_error(reader, at, NULL, "out of memory");
		return;
	}
	for (int i = 0; i < count; i++)
		if (read_prefix(reader, config_setting_get_elem(at, (unsigned)i), family,
			    &prefixes->items[prefixes->count]))
			prefixes->count++;
}

static void read_allow_from(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	char value[CONF_VALUE_MAX];

	(void)key;
	if (!conf_is_list(at))
		conf_error(reader, at, NULL, "%s is not a list like [\"192.0.2.0/24\", \"198.51.100.7\"]",
			conf_value(at, CONFIG_TYPE_ARRAY, value));
	else if (config_setting_length(at) == 0)
		conf_error(reader, at, NULL,
			"is empty, so this host would accept no packet; name the directors and the proxies");
	else
		read_list(reader, at, NETADDR_V4, field);
}

static void read_allow_to(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	struct redirect_conf *conf = reader->conf;
	char value[CONF_VALUE_MAX];

	(void)key;
	if (text && strcmp(text, "local") == 0)
		return; /* the default */
	if (!conf_is_list(at)) {
		conf_error(reader, at, NULL,
			"%s is neither \"local\" nor a list like [\"203.0.113.10\", \"2001:db8::/64\"]",
			conf_value(at, CONFIG_TYPE_STRING, value));
	} else if (config_setting_length(at) == 0) {
		conf_error(reader, at, NULL,
			"is empty, so this host would accept no packet; name the VIPs, or write \"local\"");
	} else {
		conf->allow_to_local = false;
		read_list(reader, at, NETADDR_NONE, field);
	}
}

/* An empty list is useful: this host then passes no packet on. */
static void read_next_hops(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	char value[CONF_VALUE_MAX];

	(void)key;
	if (!conf_is_list(at))
		conf_error(reader, at, NULL, "%s is not a list like [\"192.0.2.0/24\"]",
			conf_value(at, CONFIG_TYPE_ARRAY, value));
	else
		read_list(reader, at, NETADDR_V4, field);
}

static const struct conf_key keys[] = {
	{.name = "allow_from", .read = read_allow_from, .offset = offsetof(struct redirect_conf, allow_from)},
	{.name = "allow_to", .read = read_allow_to, .offset = offsetof(struct redirect_conf, allow_to)},
	{.name = "next_hops", .read = read_next_hops, .offset = offsetof(struct redirect_conf, next_hops)},
	{.name = "max_hops",
		.read = conf_read_unsigned,
		.offset = offsetof(struct redirect_conf, max_hops),
		.max = GUE_MAX_LATER_HOPS},
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

	for (size_t i = 0; i < from->count; i++)
		if (from->items[i].length == 0)
			conf_warn(reader, config_setting_get_member(root, "allow_from"), NULL,
				"has 0.0.0.0/0, so this host accepts packets from any sender");
}

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	struct redirect_conf *conf = reader->conf;
	size_t errors = reader->faults->errors;

	conf_read_group(reader, root, keys, conf);
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
	*conf = (struct redirect_conf){
		.allow_from = {.any = true},
		.allow_to_local = true,
		.next_hops = {.any = true},
		.max_hops = REDIRECT_CONF_MAX_HOPS,
	};
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
	redirect_conf_init(conf);
}

unsigned redirect_conf_count_keys_in(const char *text)
{
	return conf_count_keys(text, keys);
}
