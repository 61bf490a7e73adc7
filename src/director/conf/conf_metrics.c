/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/conf/conf_metrics.h"

#include <string.h>

#define DEFAULT_PORT 19520
#define STATSD_PORT  8125
#define LETTERS      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Also true for reserved addresses of IPv4. */
static bool is_multicast(const struct netaddr *addr)
{
	return addr->family == NETADDR_V4 ? addr->bytes[0] >= 224 : addr->bytes[0] == 0xff;
}

void conf_read_metrics(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];
	struct endpoint endpoint;

	(void)key;
	if (text && strcmp(text, "none") == 0)
		*(struct endpoint *)field = (struct endpoint){0};
	else if (!text || !endpoint_parse(text, &endpoint) || !endpoint.port)
		conf_error(reader, at, NULL,
			"%s is neither \"none\" nor an address with a port, like \"127.0.0.1:19520\" or \"[::1]:19520\"",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else if (is_multicast(&endpoint.addr))
		conf_error(reader, at, NULL, "%s is a multicast or reserved address, on which nobody can listen",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else
		*(struct endpoint *)field = endpoint;
}

static void read_host(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];

	(void)key;
	if (text && *text && strlen(text) < STATSD_HOST_SIZE &&
		strspn(text, LETTERS "-.:") == strlen(text)) /* : in IPv6 addresses */
		strcpy(field, text);
	else
		conf_error(reader, at, NULL, "%s is not the name or address of a host",
			conf_value(at, CONFIG_TYPE_STRING, value));
}

static void read_prefix(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];

	(void)key;
	if (text && *text && strlen(text) < STATSD_PREFIX_SIZE && strspn(text, LETTERS "_-.") == strlen(text))
		strcpy(field, text);
	else
		conf_error(reader, at, NULL, "%s is not a prefix: 1 to %d letters, digits, dots, _ and -",
			conf_value(at, CONFIG_TYPE_STRING, value), STATSD_PREFIX_SIZE - 1);
}

void conf_read_statsd(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	static const struct conf_key keys[] = {
		{.name = "host", .read = read_host, .offset = offsetof(struct statsd_config, host)},
		{.name = "port",
			.read = conf_read_uint16,
			.offset = offsetof(struct statsd_config, port),
			.min = 1,
			.max = UINT16_MAX},
		{.name = "prefix", .read = read_prefix, .offset = offsetof(struct statsd_config, prefix)},
		{.name = "tags", .read = conf_read_bool, .offset = offsetof(struct statsd_config, tags)},
		{0},
	};

	(void)key;
	*(struct statsd_config *)field = (struct statsd_config){
		.enabled = true, .host = "127.0.0.1", .port = STATSD_PORT, .prefix = "glb_director"};
	conf_read_group(reader, at, keys, field);
}

struct endpoint conf_metrics_default(void)
{
	struct endpoint endpoint = {.has_port = true, .port = DEFAULT_PORT};

	netaddr_parse("127.0.0.1", &endpoint.addr);
	return endpoint;
}
