/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/http/http_host.h"

#include <string.h>
#include <strings.h>

#define LOCALHOST "localhost"
#define HOST_MAX  256

bool http_host_is_loopback(const struct netaddr *address)
{
	static const uint8_t loopback6[16] = {[15] = 1};

	return address->family == NETADDR_V6 ? memcmp(address->bytes, loopback6, sizeof(loopback6)) == 0
					     : address->bytes[0] == 127;
}

/* Returns whether the name is localhost, or below it. Those who resolve names keep it on this machine (RFC 6761). */
static bool is_localhost(const char *name, size_t size)
{
	size_t end = strlen(LOCALHOST);

	return size >= end && strncasecmp(name + size - end, LOCALHOST, end) == 0 &&
	       (size == end || name[size - end - 1] == '.');
}

bool http_host_is_local(const char *host)
{
	const char *end;
	struct netaddr address;
	char text[HOST_MAX];
	size_t size;

	if (!host)
		return true;
	end = *host == '[' ? strchr(host, ']') : host + strcspn(host, ":");
	if (!end)
		return false;
	host += *host == '[';
	size = (size_t)(end - host);
	if (size >= sizeof(text))
		return false;
	memcpy(text, host, size);
	text[size] = '\0';
	end += *end == ']';
	if (*end && (*end != ':' || end[1 + strspn(end + 1, "0123456789")]))
		return false;
	return is_localhost(text, size) || netaddr_parse(text, &address);
}
