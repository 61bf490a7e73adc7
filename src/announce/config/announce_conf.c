/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/config/announce_conf.h"

#include <stdlib.h>

#include "conf/conf_reader.h"

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

	if (!conf_read_prefix(reader, at, prefix))
		return;
	if (has(conf, prefix))
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "is given twice; delete one of the two");
	else if (prefix->length == 0)
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "is the default route, which is no VIP");
	else
		conf->vip_count++;
}

static void read_vips(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct announce_conf *conf = field;
	unsigned count = conf_list_length(reader, at, key);

	conf->all_binds = false;
	conf->vips = conf_allocate(reader, at, count, sizeof(*conf->vips));
	for (unsigned i = 0; conf->vips && i < count; i++)
		read_vip(reader, config_setting_get_elem(at, i), conf);
}

static const char *parse_address(const char *text, void *field)
{
	return netaddr_parse(text, field) && netaddr_is_unicast(field) ? NULL : "is not a unicast address";
}

static void read_probe(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct announce_probe *probe = field;

	conf_read_group(reader, at, key->keys, probe);
	if (probe->source.family && probe->address.family && probe->source.family != probe->address.family)
		conf_error(reader, at, "source", "is not of the same family as address");
}

static const char *const fails[] = {"closed", "static", NULL};

#define AT(member) .offset = offsetof(struct announce_probe, member)

static const struct conf_key probe_keys[] = {
	{"address", conf_read_text, AT(address), .parse = parse_address, .required = "an address of this director alone"},
	{"source", conf_read_text, AT(source), .parse = parse_address},
	{"interval_ms", conf_read_unsigned, AT(interval_ms), "1000", 20, 60000},
	{"rise", conf_read_unsigned, AT(rise), "3", 1, 1000},
	{"fall", conf_read_unsigned, AT(fall), "10", 0, 1000},
	{0},
};

#undef AT
#define AT(member) .offset = offsetof(struct announce_conf, member)

_Static_assert(ANNOUNCE_MAX_VIPS == 1024, "the error of vips has the number");

const struct conf_key announce_conf_keys[] = {
	{"driver", conf_read_string, AT(driver), .fault = conf_path_fault,
		.required = "the path of a driver file, such as \"/etc/glb/announce.d/bird.conf\""},
	{"vips", read_vips, .min = 1, .max = ANNOUNCE_MAX_VIPS,
		.expected = "is not a list of 1 to 1024 prefixes like [\"203.0.113.10\", \"2001:db8:f::10\"]"},
	{"file_prefix", conf_read_string, AT(file_prefix), "\"rte\""},
	{"interval_ms", conf_read_unsigned, AT(interval_ms), "500", 20, 60000},
	{"timeout_ms", conf_read_unsigned, AT(timeout_ms), "1000", 100, 10000},
	{"rise", conf_read_unsigned, AT(rise), "3", 1, 1000},
	{"fall", conf_read_unsigned, AT(fall), "2", 1, 1000},
	{"hold_ms", conf_read_unsigned, AT(hold_ms), "5000", 0, 3600000},
	{"hold_max_ms", conf_read_unsigned, AT(hold_max_ms), "300000", 0, 86400000},
	{"reassert_ms", conf_read_unsigned, AT(reassert_ms), "5000", 100, 3600000},
	{"withdraw_ms", conf_read_unsigned, AT(withdraw_ms), "2000", 0, 600000},
	{"fail", conf_read_choice, AT(fail), "\"closed\"", .choices = fails},
	{"probe", read_probe, AT(probe), .keys = probe_keys},
	{"status_file", conf_read_string, AT(status_file), "\"" ANNOUNCE_STATUS_FILE "\"", .fault = conf_path_fault},
	{"switch_file", conf_read_string, AT(switch_file), "\"" ANNOUNCE_SWITCH_FILE "\"", .fault = conf_path_fault},
	{0},
};

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	struct announce_conf *conf = reader->conf;

	conf_read_group(reader, root, announce_conf_keys, conf);
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

	*conf = (struct announce_conf){.all_binds = true};
	return conf_read_file(path, &reader, read_root);
}

void announce_conf_free(struct announce_conf *conf)
{
	conf_free_strings(announce_conf_keys, conf);
	free(conf->vips);
	*conf = (struct announce_conf){0};
}
