/* SPDX-License-Identifier: BSD-3-Clause */
/* An IP address with an optional port, as text: ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT. Pure, thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/netaddr.h"

struct endpoint {
	struct netaddr addr;
	bool has_port;
	uint16_t port; /* host byte order; 0 if there is no port */
};

#define ENDPOINT_TEXT_MAX (NETADDR_TEXT_MAX + 8)

/* Parses the text. An IPv6 address with a port must be in brackets. False: *endpoint is unchanged. */
bool endpoint_parse(const char *text, struct endpoint *endpoint);

/* Writes text that endpoint_parse() can parse. Returns buf. */
const char *endpoint_format(const struct endpoint *endpoint, char buf[ENDPOINT_TEXT_MAX]);

/* The same for an address and a port in host byte order. */
const char *endpoint_text(const struct netaddr *addr, uint16_t port, char buf[ENDPOINT_TEXT_MAX]);
