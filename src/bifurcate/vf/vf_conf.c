/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_conf.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_reader.h"

#define MAX_VLAN 4094

static void read_switch(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	size_t errors = reader->faults->errors;
	bool on = false;

	conf_read_bool(reader, at, key, &on);
	if (reader->faults->errors == errors)
		*(enum vf_switch *)field = on ? VF_ON : VF_OFF;
}

static const char *const steerings[] = {[VF_STEERING_NEXT_HOP] = "next-hop", [VF_STEERING_RULES] = "rules", NULL};

#define AT(member) .offset = offsetof(struct vf_conf, member)

const struct conf_key vf_conf_keys[] = {
	{"device", conf_read_string, AT(device),
		.required = "the PCI address of the card, or the name of its interface: device = \"0000:03:00.0\";"},
	{"num_vfs", conf_read_unsigned, AT(num_vfs), .min = 1, .max = VF_CONF_MAX_VFS},
	{"vf", conf_read_unsigned, AT(vf), "0", 0, VF_CONF_MAX_VFS - 1},
	{"mac", conf_read_text, AT(mac), .parse = conf_parse_unicast_mac,
		.required = "the MAC of the VF, which the routers use as next hop: mac = \"02:00:00:00:03:00\";"},
	{"vlan", conf_read_unsigned, AT(vlan), "0", 0, MAX_VLAN},
	{"spoof_check", read_switch, AT(spoof_check)},
	{"trust", read_switch, AT(trust)},
	{"steering", conf_read_choice, AT(steering), "\"next-hop\"", .choices = steerings},
	{0},
};

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	struct vf_conf *conf = reader->conf;

	conf_read_group(reader, root, vf_conf_keys, conf);
	if (conf->num_vfs && conf->vf >= conf->num_vfs)
		conf_error(reader, root, "vf", "VF %u does not exist if num_vfs is %u: the first VF has number 0",
			conf->vf, conf->num_vfs);
}

int vf_conf_read(const char *path, struct vf_conf *conf, struct faults *faults)
{
	struct conf_reader reader = {.conf = conf, .faults = faults};
	int error;

	*conf = (struct vf_conf){0};
	error = conf_read_file(path, &reader, read_root);
	if (error)
		vf_conf_free(conf);
	return error;
}

void vf_conf_free(struct vf_conf *conf)
{
	free(conf->device);
	vips_free(&conf->vips);
	*conf = (struct vf_conf){0};
}

const char *vf_conf_clash(const struct vf_conf *one, const struct vf_conf *other)
{
	if (!one->device || !other->device)
		return NULL;
	if (strcasecmp(one->device, other->device) == 0)
		return "device";
	return memcmp(one->mac, other->mac, sizeof(one->mac)) == 0 ? "mac" : NULL;
}
