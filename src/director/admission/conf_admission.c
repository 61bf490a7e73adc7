/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/admission/conf_admission.h"

#include <string.h>

#include "conf/conf_reader.h"
#include "director/conf/conf.h"

static const char *parse_mac(const char *text, void *field)
{
	uint8_t bytes[8] = {0};
	uint64_t *mac = field;

	if (!conf_parse_mac(text, bytes))
		return "is not a MAC like 02:00:5e:10:00:01";
	*mac = admission_mac(bytes);
	return *mac == 0 || admission_mac_is_group(*mac) ? "is not a unicast MAC; remove it" : NULL;
}

static void add_mac(struct conf_reader *reader, const config_setting_t *at, struct admission *admission)
{
	static const struct conf_key key = {.parse = parse_mac};
	size_t errors = reader->faults->errors;
	uint64_t mac;

	conf_read_text(reader, at, &key, &mac);
	if (reader->faults->errors != errors)
		return;
	for (uint8_t i = 0; i < admission->mac_count; i++)
		if (admission->macs[i] == mac) {
			conf_wrong(reader, at, CONFIG_TYPE_STRING, "is already in the list; remove one of them");
			return;
		}
	admission->macs[admission->mac_count++] = mac;
}

void conf_read_accept_macs(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct admission *admission = field;
	unsigned count = 0;

	if (conf_is_word(at, "any"))
		admission->accept = ADMISSION_EVERY_UNICAST;
	else
		count = conf_list_length(reader, at, key);
	for (unsigned i = 0; i < count; i++)
		add_mac(reader, config_setting_get_elem(at, i), admission);
}

static void add_vlan(struct conf_reader *reader, const config_setting_t *at, struct admission *admission)
{
	static const struct conf_key id = {.max = CONF_MAX_VLAN};
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
	unsigned count = 0;

	memset(admission->vlans, 0, sizeof(admission->vlans));
	admission->check_vlans = !conf_is_word(at, "any");
	if (conf_is_word(at, "untagged"))
		admission_add_vlan(admission, 0);
	else if (admission->check_vlans)
		count = conf_list_length(reader, at, key);
	for (unsigned i = 0; i < count; i++)
		add_vlan(reader, config_setting_get_elem(at, i), admission);
}

void conf_read_outbound_vlan(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	if (conf_is_word(at, "untagged"))
		*(uint16_t *)field = 0;
	else if (config_setting_type(at) == CONFIG_TYPE_STRING)
		conf_wrong(reader, at, CONFIG_TYPE_STRING,
			"is neither \"untagged\" nor a number from %ld to %ld without quotes", key->min, key->max);
	else
		conf_read_uint16(reader, at, key, field);
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
