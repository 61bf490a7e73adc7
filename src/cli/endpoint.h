/* SPDX-License-Identifier: BSD-3-Clause */
/* One end of a flow on the command line: ADDRESS, ADDRESS:PORT, [ADDRESS]:PORT. */
#ifndef GLB_CLI_ENDPOINT_H
#define GLB_CLI_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/netaddr.h"

struct endpoint {
	struct netaddr addr;
	bool has_port;
	uint16_t port; /* host order; 0 without */
};

#define ENDPOINT_TEXT_MAX (NETADDR_TEXT_MAX + 8)

bool endpoint_parse(const char *text, struct endpoint *endpoint);

/* What endpoint_parse() takes; returns buf. */
const char *endpoint_format(const struct endpoint *endpoint, char buf[ENDPOINT_TEXT_MAX]);

#endif
