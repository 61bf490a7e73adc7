/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/edit/bind_operand.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"

/* Parses PORT or PORT-PORT up to `end`. */
static bool parse_ports(const char *text, const char *end, struct table_bind *bind)
{
	uint32_t first, last;

	if (!text_take_number(&text, 0, UINT16_MAX, &first))
		return false;
	last = first;
	if (*text == '-') {
		text++;
		if (!text_take_number(&text, first, UINT16_MAX, &last))
			return false;
	}
	bind->port_start = (uint16_t)first;
	bind->port_end = (uint16_t)last;
	return text == end;
}

bool bind_operand_parse(const char *text, struct table_bind *bind)
{
	const char *slash = strrchr(text, '/'), *colon = NULL;
	char prefix[NETPREFIX_TEXT_MAX + 1];
	bool bracket = *text == '[', host_bits;
	size_t size;

	*bind = (struct table_bind){.protocol = TABLE_TCP};
	for (const char *at = text; slash && at < slash; at++)
		if (*at == ':')
			colon = at;
	if (!colon || (bracket && (colon - text < 2 || colon[-1] != ']')))
		return false;
	bind->quic = strcmp(slash + 1, "quic") == 0;
	if (bind->quic || strcmp(slash + 1, "udp") == 0)
		bind->protocol = TABLE_UDP;
	else if (strcmp(slash + 1, "tcp") != 0)
		return false;
	size = (size_t)(colon - text) - (bracket ? 2 : 0);
	if (size >= sizeof(prefix))
		return false;
	snprintf(prefix, sizeof(prefix), "%.*s", (int)size, text + bracket);
	return netprefix_parse(prefix, &bind->prefix, &host_bits) && !host_bits &&
	       bracket == (bind->prefix.addr.family == NETADDR_V6) && parse_ports(colon + 1, slash, bind);
}
