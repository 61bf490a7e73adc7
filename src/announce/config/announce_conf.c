/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/config/announce_conf.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf_reader.h"

#define DEFAULT_SWITCH_FILE "/var/lib/glb-announce/withdrawn.json"

static void read_path(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];

	if (text && text[0] != '/')
		conf_error(reader, at, NULL, "%s is not a full path, which begins with '/'",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else
		conf_read_string(reader, at, key, field);
}

static bool has(const struct announce_conf *conf, const struct netprefix *prefix)
{
	for (size_t i = 0; i < conf->vip_count; i++)
		if (conf->vips[i].length == prefix->length && netaddr_compare(&conf->vips[i].addr, &prefix->addr) == 0)
			return true;
	return false;
}

static void read_vip(struct conf_reader *reader, const config_setting_t *at, struct announce_conf *conf)
{
	struct netprefix *prefix = &conf->vips[conf->vip_count];
	char value[CONF_VALUE_MAX];

	if (!conf_read_prefix(reader, at, prefix))
		return;
	if (has(conf, prefix))
		conf_error(reader, at, NULL, "%s is given twice; delete one of the two",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else if (prefix->length == 0)
		conf_error(reader, at, NULL, "%s is the default route, which is no VIP",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else
		conf->vip_count++;
}

static void read_vips(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct announce_conf *conf = reader->conf;
	char value[CONF_VALUE_MAX];
	int count = config_setting_length(at);

	(void)key;
	(void)field;
	if (!conf_is_list(at) || count == 0 || count > ANNOUNCE_MAX_VIPS) {
		conf_error(reader, at, NULL,
			"%s is not a list of 1 to %d prefixes like [\"203.0.113.10\", \"2001:db8:f::10\"]",
			conf_value(at, CONFIG_TYPE_ARRAY, value), ANNOUNCE_MAX_VIPS);
		return;
	}
	conf->all_binds = false;
	conf->vips = calloc((size_t)count, sizeof(*conf->vips));
	if (!conf->vips)
		conf_error(reader, at, NULL, "out of memory");
	for (int i = 0; conf->vips && i < count; i++)
		read_vip(reader, config_setting_get_elem(at, (unsigned)i), conf);
}

static void read_address(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];

	(void)key;
	if (!text || !netaddr_parse(text, field) || !netaddr_is_unicast(field))
		conf_error(reader, at, NULL, "%s is not a unicast address", conf_value(at, CONFIG_TYPE_STRING, value));
}

#define MEMBER(name) .offset = offsetof(struct announce_conf, name)
#define NUMBER(key, least, most)                                                                     \
	{                                                                                            \
		.name = #key, .read = conf_read_unsigned, MEMBER(key), .min = (least), .max = (most) \
	}

static void read_probe(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
#define PROBE(name) .offset = offsetof(struct announce_probe, name)
	static const struct conf_key keys[] = {
		{.name = "address", .read = read_address, PROBE(address), .required = "an address of this director alone"},
		{.name = "source", .read = read_address, PROBE(source)},
		{.name = "interval_ms", .read = conf_read_unsigned, PROBE(interval_ms), .min = 20, .max = 60000},
		{.name = "rise", .read = conf_read_unsigned, PROBE(rise), .min = 1, .max = 1000},
		{.name = "fall", .read = conf_read_unsigned, PROBE(fall), .min = 0, .max = 1000},
		{0},
	};
	struct announce_probe *probe = field;

	(void)key;
	conf_read_group(reader, at, keys, probe);
	if (probe->source.family && probe->address.family && probe->source.family != probe->address.family)
		conf_error(reader, at, "source", "is not of the same family as address");
}

static const char *const fails[] = {"closed", "static", NULL};

static const struct conf_key keys[] = {
	{.name = "driver",
		.read = read_path,
		MEMBER(driver),
		.required = "the path of a driver file, such as \"/etc/glb/announce.d/bird.conf\""},
	{.name = "vips", .read = read_vips},
	{.name = "file_prefix", .read = conf_read_string, MEMBER(file_prefix)},
	NUMBER(interval_ms, 20, 60000),
	NUMBER(timeout_ms, 100, 10000),
	NUMBER(rise, 1, 1000),
	NUMBER(fall, 1, 1000),
	NUMBER(hold_ms, 0, 3600000),
	NUMBER(hold_max_ms, 0, 86400000),
	NUMBER(reassert_ms, 100, 3600000),
	NUMBER(withdraw_ms, 0, 600000),
	{.name = "fail", .read = conf_read_choice, MEMBER(fail), .choices = fails},
	{.name = "probe", .read = read_probe, MEMBER(probe)},
	{.name = "status_file", .read = read_path, MEMBER(status_file)},
	{.name = "switch_file", .read = read_path, MEMBER(switch_file)},
	{0},
};

static void set_default(struct conf_reader *reader, const config_setting_t *root, char **text, const char *value)
{
	if (!*text && !(*text = strdup(value)))
		conf_error(reader, root, NULL, "out of memory");
}

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	struct announce_conf *conf = reader->conf;

	conf_read_group(reader, root, keys, conf);
	set_default(reader, root, &conf->file_prefix, "rte");
	set_default(reader, root, &conf->status_file, ANNOUNCE_STATUS_FILE);
	set_default(reader, root, &conf->switch_file, DEFAULT_SWITCH_FILE);
	if (conf->hold_max_ms < conf->hold_ms) {
		if (config_setting_get_member(root, "hold_max_ms"))
			conf_error(reader, root, "hold_max_ms", "%u is less than hold_ms, which is %u",
				conf->hold_max_ms, conf->hold_ms);
		conf->hold_max_ms = conf->hold_ms;
	}
	for (size_t i = 0; i < conf->vip_count; i++)
		if (conf->probe.address.family && netprefix_covers(&conf->vips[i], &conf->probe.address))
			conf_error(reader, root, "vips",
				"one of them has the address of the probe, but all directors announce VIPs, and the probe must reach this director");
}

int announce_conf_read(const char *path, struct announce_conf *conf, struct faults *faults)
{
	struct conf_reader reader = {.conf = conf, .faults = faults};

	*conf = (struct announce_conf){
		.all_binds = true,
		.interval_ms = 500,
		.timeout_ms = 1000,
		.rise = 3,
		.fall = 2,
		.hold_ms = 5000,
		.hold_max_ms = 300000,
		.reassert_ms = 5000,
		.withdraw_ms = 2000,
		.probe = {.interval_ms = 1000, .rise = 3, .fall = 10},
	};
	return conf_read_file(path, &reader, read_root);
}

void announce_conf_free(struct announce_conf *conf)
{
	free(conf->driver);
	free(conf->file_prefix);
	free(conf->status_file);
	free(conf->switch_file);
	free(conf->vips);
	*conf = (struct announce_conf){0};
}
