/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/conf/conf_metrics.h"

#include <string.h>

#define DEFAULT_PORT 19520

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

struct endpoint conf_metrics_default(void)
{
	struct endpoint endpoint = {.has_port = true, .port = DEFAULT_PORT};

	netaddr_parse("127.0.0.1", &endpoint.addr);
	return endpoint;
}
