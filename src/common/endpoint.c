/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/endpoint.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"

bool endpoint_parse(const char *text, struct endpoint *endpoint)
{
	struct endpoint parsed = {0};
	const char *end = strchr(text, ']'), *colon = strrchr(text, ':');
	char address[NETADDR_TEXT_MAX];
	uint32_t port;
	size_t size;

	if (text[0] == '[') {
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return false;
		colon = end[1] == ':' ? end + 1 : NULL;
		text++;
	} else if (colon && strchr(text, ':') != colon) {
		colon = NULL; /* IPv6 without brackets */
		end = text + strlen(text);
	} else {
		end = colon ? colon : text + strlen(text);
	}
	size = (size_t)(end - text);
	if (size >= sizeof(address))
		return false;
	memcpy(address, text, size);
	address[size] = '\0';
	if (!netaddr_parse(address, &parsed.addr))
		return false;
	if (colon) {
		if (!text_number(colon + 1, 0, UINT16_MAX, &port))
			return false;
		parsed.has_port = true;
		parsed.port = (uint16_t)port;
	}
	*endpoint = parsed;
	return true;
}

const char *endpoint_format(const struct endpoint *endpoint, char buf[ENDPOINT_TEXT_MAX])
{
	char address[NETADDR_TEXT_MAX];
	bool brackets = endpoint->addr.family == NETADDR_V6 && endpoint->has_port;

	netaddr_format(&endpoint->addr, address);
	if (endpoint->has_port)
		snprintf(buf, ENDPOINT_TEXT_MAX, "%s%s%s:%u", brackets ? "[" : "", address, brackets ? "]" : "",
			endpoint->port);
	else
		snprintf(buf, ENDPOINT_TEXT_MAX, "%s", address);
	return buf;
}

const char *endpoint_text(const struct netaddr *addr, uint16_t port, char buf[ENDPOINT_TEXT_MAX])
{
	return endpoint_format(&(struct endpoint){.addr = *addr, .has_port = true, .port = port}, buf);
}
