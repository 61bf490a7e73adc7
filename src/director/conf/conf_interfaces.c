/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/conf/conf_interfaces.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Returns whether the kernel could have an interface with this name. */
static bool is_name(const char *text)
{
	if (!*text || strlen(text) >= CONF_INTERFACE_SIZE || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return false;
	for (; *text; text++)
		if (*text == '/' || *text == ':' || !isgraph((unsigned char)*text))
			return false;
	return true;
}

void conf_read_interface(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];

	(void)key;
	if (text && is_name(text))
		strcpy(field, text);
	else
		conf_error(reader, at, NULL, "%s is not the name of an interface, like \"eth1\" (1 to %d characters)",
			conf_value(at, CONFIG_TYPE_STRING, value), CONF_INTERFACE_SIZE - 1);
}

void conf_read_port_interfaces(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct conf *conf = reader->conf;
	int count = config_setting_length(at);
	char value[CONF_VALUE_MAX];

	(void)field;
	if ((config_setting_type(at) != CONFIG_TYPE_ARRAY && config_setting_type(at) != CONFIG_TYPE_LIST) || count == 0) {
		conf_error(reader, at, NULL, "%s is not a list of interfaces, like [\"eth1\", \"eth2\"]",
			conf_value(at, CONFIG_TYPE_ARRAY, value));
		return;
	}
	if (count > CONF_MAX_PORTS) {
		conf_error(reader, at, NULL, "has %d interfaces; at most %d", count, CONF_MAX_PORTS);
		return;
	}
	for (int i = 0; i < count; i++)
		conf_read_interface(reader, config_setting_get_elem(at, (unsigned)i), key, conf->port_interfaces[i]);
	conf->port_interface_count = (uint16_t)count;
}

void conf_check_interfaces(struct conf_reader *reader, const config_setting_t *root)
{
	static const char *const keys[] = {"outbound_vrf", "port_interfaces"};
	const struct conf *conf = reader->conf;

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const config_setting_t *at = config_setting_get_member(root, keys[i]);

		if (at && !conf->gateway_auto)
			conf_warn(reader, at, NULL, "has no effect, because outbound_gateway_mac is not \"auto\"");
	}
}
