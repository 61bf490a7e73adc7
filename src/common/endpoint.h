/* SPDX-License-Identifier: BSD-3-Clause */
/* An IP address and perhaps a port, as text: ADDRESS, ADDRESS:PORT, [ADDRESS]:PORT. Pure, thread-safe. */
#ifndef GLB_COMMON_ENDPOINT_H
#define GLB_COMMON_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/netaddr.h"

struct endpoint {
	struct netaddr addr;
	bool has_port;
	uint16_t port; /* host order; 0 without */
};

#define ENDPOINT_TEXT_MAX (NETADDR_TEXT_MAX + 8)

/* IPv6 with a port must be in brackets. False leaves *endpoint alone. */
bool endpoint_parse(const char *text, struct endpoint *endpoint);

/* What endpoint_parse() takes; returns buf. */
const char *endpoint_format(const struct endpoint *endpoint, char buf[ENDPOINT_TEXT_MAX]);

/* endpoint_format() of an address with a port. */
const char *endpoint_text(const struct netaddr *addr, uint16_t port, char buf[ENDPOINT_TEXT_MAX]);

#endif
