/* SPDX-License-Identifier: BSD-3-Clause */
/* The address families of the network between directors and proxies, as far as this host can tell. No state. */
#pragma once

#include "redirect/config/redirect_conf.h"
#include "redirect/host/addresses.h"

/*
 * Returns whether packets of directors and proxies have outer addresses of this family: those that allow_from names.
 * Without allow_from it is IPv4, unless IPv6 is all that this host has.
 */
bool underlay_has(const struct redirect_conf *conf, const struct addresses *addresses, enum netaddr_family family);
