/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether a request came to a server by a name that belongs to it. A web site can make its own name lead to
 * 127.0.0.1 (DNS rebinding) and then read, through the browser of an operator, what only this machine may read. Such a
 * request has the name of the web site in the header Host. Pure, thread-safe.
 */
#pragma once

#include <stdbool.h>

#include "common/netaddr.h"

/* Returns whether the address is one of 127.0.0.0/8 or ::1. */
bool http_host_is_loopback(const struct netaddr *address);

/*
 * Returns whether the value of Host is an IP address, localhost, or a name that ends in .localhost, with or without a
 * port. NULL, no header, is allowed: every browser sends one.
 */
bool http_host_is_local(const char *host);
