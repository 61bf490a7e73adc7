/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/admission/conf_admission.h"

#include <string.h>

#include "conf/conf_reader.h"
#include "director/conf/conf.h"

#define VLAN_MAX 4094 /* 4095 is reserved (IEEE 802.1Q) */

struct admission conf_admission_default(void)
{
	struct admission admission = {.accept = ADMISSION_LISTED, .check_vlans = true, .drop_martians = true};

	admission_add_vlan(&admission, 0);
	return admission;
}

static bool is_word(const config_setting_t *at, const char *word)
{
	const char *text = config_setting_get_string(at);

	return text && strcmp(text, word) == 0;
}

static bool is_list(const config_setting_t *at)
{
	int type = config_setting_type(at);

	return (type == CONFIG_TYPE_ARRAY || type == CONFIG_TYPE_LIST) && config_setting_length(at) > 0;
}

static void add_mac(struct conf_reader *reader, const config_setting_t *at, struct admission *admission)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];
	uint8_t bytes[8] = {0};
	uint64_t mac;

	if (!text || !conf_parse_mac(text, bytes)) {
		conf_error(reader, at, NULL, "%s is not a MAC like 02:00:5e:10:00:01",
			conf_value(at, CONFIG_TYPE_STRING, value));
		return;
	}
	mac = admission_mac(bytes);
	if (mac == 0 || admission_mac_is_group(mac)) {
		conf_error(reader, at, NULL, "%s is not a unicast MAC; remove it",
			conf_value(at, CONFIG_TYPE_STRING, value));
		return;
	}
	for (uint8_t i = 0; i < admission->mac_count; i++)
		if (admission->macs[i] == mac) {
			conf_error(reader, at, NULL, "%s is already in the list; remove one of them",
				conf_value(at, CONFIG_TYPE_STRING, value));
			return;
		}
	admission->macs[admission->mac_count++] = mac;
}

void conf_read_accept_macs(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct admission *admission = field;
	char value[CONF_VALUE_MAX];

	(void)key;
	if (is_word(at, "any")) {
		admission->accept = ADMISSION_EVERY_UNICAST;
	} else if (!is_list(at)) {
		conf_error(reader, at, NULL, "%s is neither \"any\" nor a list like [\"02:00:5e:10:00:01\"]",
			conf_value(at, CONFIG_TYPE_ARRAY, value));
	} else if (config_setting_length(at) > ADMISSION_MAX_MACS) {
		conf_error(reader, at, NULL, "has %d MACs; at most %d", config_setting_length(at), ADMISSION_MAX_MACS);
	} else {
		for (int i = 0; i < config_setting_length(at); i++)
			add_mac(reader, config_setting_get_elem(at, (unsigned)i), admission);
	}
}

static void add_vlan(struct conf_reader *reader, const config_setting_t *at, struct admission *admission)
{
	static const struct conf_key id = {.max = VLAN_MAX};
	size_t errors = reader->faults->errors;
	uint16_t vlan;

	conf_read_uint16(reader, at, &id, &vlan);
	if (reader->faults->errors != errors)
		return;
	if (admission_accepts_vlan(admission, vlan))
		conf_error(reader, at, NULL, "%u is already in the list; remove one of them", vlan);
	admission_add_vlan(admission, vlan);
}

void conf_read_accept_vlans(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct admission *admission = field;
	char value[CONF_VALUE_MAX];

	(void)key;
	if (is_word(at, "any")) {
		admission->check_vlans = false;
	} else if (is_list(at)) {
		memset(admission->vlans, 0, sizeof(admission->vlans));
		for (int i = 0; i < config_setting_length(at); i++)
			add_vlan(reader, config_setting_get_elem(at, (unsigned)i), admission);
	} else if (!is_word(at, "untagged")) { /* that is the default */
		conf_error(reader, at, NULL,
			"%s is not \"untagged\", \"any\" or a list of VLAN ids like [100, 101], in which 0 stands for untagged frames",
			conf_value(at, CONFIG_TYPE_ARRAY, value));
	}
}

void conf_read_outbound_vlan(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	static const struct conf_key id = {.min = 1, .max = VLAN_MAX};
	struct admission *admission = field;
	char value[CONF_VALUE_MAX];

	(void)key;
	if (is_word(at, "untagged"))
		admission->outbound_vlan = 0;
	else if (config_setting_type(at) == CONFIG_TYPE_STRING)
		conf_error(reader, at, NULL, "%s is neither \"untagged\" nor a number from 1 to %d without quotes",
			conf_value(at, CONFIG_TYPE_STRING, value), VLAN_MAX);
	else
		conf_read_uint16(reader, at, &id, &admission->outbound_vlan);
}

void conf_check_admission(struct conf_reader *reader, const config_setting_t *root, const struct admission *admission)
{
	const config_setting_t *accept_vlans = config_setting_get_member(root, "accept_vlans");
	const struct conf *conf = reader->conf;

	for (uint8_t i = 0; i < admission->mac_count; i++)
		if (!conf->gateway_auto && memcmp(&admission->macs[i], conf->gateway_mac, sizeof(conf->gateway_mac)) == 0)
			conf_error(reader, config_setting_get_member(root, "accept_macs"), NULL,
				"has the MAC of outbound_gateway_mac, which is that of another host; remove it");
	if (!admission_accepts_tagged(admission))
		return;
	if (!config_setting_get_member(root, "outbound_vlan"))
		conf_error(reader, accept_vlans, NULL,
			"admits tagged frames, so outbound_vlan must say how GUE packets are sent: set it to the VLAN of the next hops, or to \"untagged\"");
	else
		conf_warn(reader, accept_vlans, NULL,
			"admits tagged frames, which take the slower general path; where you can, let the card or the kernel remove the tags (a port VLAN of the VF, or an interface like eth1.100)");
}
