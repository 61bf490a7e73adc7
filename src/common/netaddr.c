/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/netaddr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

unsigned netaddr_size(const struct netaddr *addr)
{
	return addr->family == NETADDR_V4 ? 4 : addr->family == NETADDR_V6 ? 16 : 0;
}

unsigned netaddr_bits(const struct netaddr *addr)
{
	return 8 * netaddr_size(addr);
}

struct netaddr netaddr_from_bytes(enum netaddr_family family, const void *bytes)
{
	struct netaddr addr = {.family = (uint8_t)family};

	memcpy(addr.bytes, bytes, netaddr_size(&addr));
	return addr;
}

bool netaddr_parse(const char *text, struct netaddr *addr)
{
	struct netaddr parsed = {0};

	if (inet_pton(AF_INET, text, parsed.bytes) == 1)
		parsed.family = NETADDR_V4;
	else if (inet_pton(AF_INET6, text, parsed.bytes) == 1)
		parsed.family = NETADDR_V6;
	else
		return false;
	*addr = parsed;
	return true;
}

const char *netaddr_format(const struct netaddr *addr, char buf[NETADDR_TEXT_MAX])
{
	int family = addr->family == NETADDR_V4 ? AF_INET : AF_INET6;

	if (addr->family == NETADDR_NONE || !inet_ntop(family, addr->bytes, buf, NETADDR_TEXT_MAX))
		snprintf(buf, NETADDR_TEXT_MAX, "none");
	return buf;
}

bool netaddr_is_unicast(const struct netaddr *addr)
{
	static const uint8_t zeros[15];
	const uint8_t *bytes = addr->bytes;

	if (addr->family == NETADDR_V4)
		return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224;
	return bytes[0] != 0xff && (memcmp(bytes, zeros, 15) != 0 || bytes[15] > 1);
}

bool netaddr_is_unspecified(const struct netaddr *addr)
{
	static const uint8_t zeros[16];

	return memcmp(addr->bytes, zeros, sizeof(zeros)) == 0;
}

bool netaddr_is_link_local(const struct netaddr *addr)
{
	return addr->family == NETADDR_V6 && addr->bytes[0] == 0xfe && (addr->bytes[1] & 0xc0) == 0x80;
}

bool netaddr_is_mapped(const struct netaddr *addr)
{
	static const uint8_t prefix[12] = {[10] = 0xff, 0xff};

	return addr->family == NETADDR_V6 && memcmp(addr->bytes, prefix, sizeof(prefix)) == 0;
}

bool netaddr_is_host(const struct netaddr *addr)
{
	return netaddr_is_unicast(addr) && !netaddr_is_link_local(addr) && !netaddr_is_mapped(addr);
}

int netaddr_compare(const struct netaddr *a, const struct netaddr *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return memcmp(a->bytes, b->bytes, netaddr_size(a));
}

int netprefix_compare(const void *a, const void *b)
{
	const struct netprefix *x = a, *y = b;
	int order = netaddr_compare(&x->addr, &y->addr);

	return order ? order : (int)x->length - y->length;
}

void netprefix_mask(uint8_t *bytes, unsigned size, unsigned length)
{
	unsigned whole = length / 8;

	if (whole >= size)
		return;
	bytes[whole] &= (uint8_t)(0xff00u >> (length % 8));
	memset(bytes + whole + 1, 0, size - whole - 1);
}

static bool parse_length(const char *text, unsigned max, uint8_t *length)
{
	uint32_t value;

	if (!text_number(text, 0, max, &value))
		return false;
	*length = (uint8_t)value;
	return true;
}

bool netprefix_parse(const char *text, struct netprefix *prefix, bool *host_bits)
{
	const char *slash = strchr(text, '/');
	char head[NETADDR_TEXT_MAX];
	struct netprefix parsed = {0};
	struct netaddr whole;
	size_t len = slash ? (size_t)(slash - text) : strlen(text);

	if (len >= sizeof(head))
		return false;
	memcpy(head, text, len);
	head[len] = '\0';
	if (!netaddr_parse(head, &parsed.addr))
		return false;
	parsed.length = (uint8_t)netaddr_bits(&parsed.addr);
	if (slash && !parse_length(slash + 1, parsed.length, &parsed.length))
		return false;
	whole = parsed.addr;
	netprefix_mask(parsed.addr.bytes, netaddr_size(&parsed.addr), parsed.length);
	if (host_bits)
		*host_bits = netaddr_compare(&whole, &parsed.addr) != 0;
	*prefix = parsed;
	return true;
}

const char *netprefix_format(const struct netprefix *prefix, char buf[NETPREFIX_TEXT_MAX])
{
	size_t len;

	netaddr_format(&prefix->addr, buf);
	len = strlen(buf);
	if (prefix->length != netaddr_bits(&prefix->addr))
		snprintf(buf + len, NETPREFIX_TEXT_MAX - len, "/%u", prefix->length);
	return buf;
}

bool netprefix_covers(const struct netprefix *prefix, const struct netaddr *addr)
{
	struct netaddr masked = *addr;

	if (prefix->addr.family != addr->family)
		return false;
	netprefix_mask(masked.bytes, netaddr_size(&masked), prefix->length);
	return netaddr_compare(&masked, &prefix->addr) == 0;
}

bool netprefix_is_in(const struct netprefix *prefixes, size_t count, const struct netprefix *prefix)
{
	for (size_t i = 0; i < count; i++)
		if (prefixes[i].length == prefix->length && netaddr_compare(&prefixes[i].addr, &prefix->addr) == 0)
			return true;
	return false;
}
