/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/text.h"
#include "conf/conf_reader.h"
#include "program/member.h"
#include "program/output_of.h"

/* Returns 0, an error of output_of(), or -EBADMSG: the program did not print JSON. */
static int ask(char *const words[], json_t **json, struct faults *faults)
{
	json_error_t problem;
	size_t size;
	char *text;
	int error = output_of(words, &text, &size);

	*json = error ? NULL : json_loads(text, 0, &problem);
	if (error == -ENOENT)
		faults_error(faults, words[0], "there is no such program: install the package iproute2");
	else if (error)
		faults_error(faults, words[0], "'%s %s %s %s ...' failed: %s", words[0], words[1], words[2], words[3],
			output_of_reason(error));
	else if (!*json)
		faults_error(faults, words[0], "it did not print JSON: %s", text_without_token(problem.text));
	free(text);
	return error || *json ? error : -EBADMSG;
}

json_t *vf_ask(char *const words[], struct faults *faults)
{
	json_t *json;

	ask(words, &json, faults);
	return json;
}

/* Older versions of ip print "on" and "off". */
static enum vf_switch switch_of(const json_t *value)
{
	const char *text = json_string_value(value);

	if (json_is_boolean(value))
		return json_is_true(value) ? VF_ON : VF_OFF;
	return !text ? VF_UNSET : strcmp(text, "on") == 0 ? VF_ON : VF_OFF;
}

static bool take_mac(const json_t *info, uint8_t mac[6])
{
	const char *text = json_string_value(json_object_get(info, "address"));

	if (!text) /* older versions of ip */
		text = json_string_value(json_object_get(info, "mac"));
	return text && conf_parse_mac(text, mac);
}

static void take_attributes(const json_t *info, struct vf_attributes *attributes)
{
	const json_t *vlan = json_array_get(json_object_get(info, "vlan_list"), 0);

	attributes->known = take_mac(info, attributes->mac);
	attributes->vlan = (unsigned)member_number(vlan ? vlan : info, "vlan");
	attributes->spoof_check = switch_of(json_object_get(info, "spoofchk"));
	attributes->trust = switch_of(json_object_get(info, "trust"));
}

int vf_ask_attributes(struct vf_state *state, const struct vf_conf *conf, struct faults *faults)
{
	char *const words[] = {"ip", "-json", "link", "show", "dev", state->interface, NULL};
	json_t *links = vf_ask(words, faults);
	const json_t *info;
	size_t i;

	if (!links)
		return -EIO;
	json_array_foreach(json_object_get(json_array_get(links, 0), "vfinfo_list"), i, info)
	{
		json_int_t number = member_number(info, "vf");
		uint8_t mac[6];

		if (number == (json_int_t)conf->vf)
			take_attributes(info, &state->attributes);
		else if (take_mac(info, mac) && memcmp(mac, conf->mac, sizeof(mac)) == 0)
			state->mac_vf = (long)number;
	}
	json_decref(links);
	return 0;
}

void vf_ask_eswitch(struct vf_state *state)
{
	char handle[VF_PCI_MAX + 8];
	char *const words[] = {"devlink", "-j", "dev", "eswitch", "show", handle, NULL};
	struct faults faults = {0};
	const char *mode;
	json_t *reply;

	snprintf(handle, sizeof(handle), "pci/%s", state->pf);
	if (ask(words, &reply, &faults) != -EIO) /* devlink fails if the card has no switchdev mode */
		snprintf(state->eswitch_fault, sizeof(state->eswitch_fault), "%s", faults_first_error(&faults));
	mode = json_string_value(json_object_get(json_object_get(json_object_get(reply, "dev"), handle), "mode"));
	if (mode)
		state->eswitch = strcmp(mode, "switchdev") == 0 ? VF_ESWITCH_SWITCHDEV : VF_ESWITCH_LEGACY;
	json_decref(reply);
	faults_clear(&faults);
}
