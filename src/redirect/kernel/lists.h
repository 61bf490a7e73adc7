/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the map `lists` of a program, with the addresses that it allows (enum redirect_list). The map may be in use.
 * One thread; the caller holds loader_lock(). Functions that return int return 0 or -errno.
 */
#pragma once

#include <stdbool.h>

#include "redirect/config/redirect_conf.h"
#include "redirect/host/host.h"
#include "redirect/redirect.h"

/* The file descriptors of a program's maps. */
struct lists {
	int prefixes, generation;
};

/* Writes the lists of redirect.conf into the maps of a program that is not attached yet. */
int lists_put_conf(const struct lists *lists, const struct redirect_conf *conf);

/*
 * Writes the addresses of this host, and removes those that it no longer has. At no time a packet for an address that
 * the host had before and has now is refused.
 */
int lists_put_host(const struct lists *lists, const struct host *host);

/* Makes a list allow every address. */
int lists_put_any(const struct lists *lists, enum redirect_list list);

/* Returns whether a list allows every address of a family. */
bool lists_has_any(const struct lists *lists, enum redirect_list list);

/* Reads a list of IP prefixes, in no order. `any` is lists_has_any(). The caller frees prefixes->items. */
int lists_read(const struct lists *lists, enum redirect_list list, struct redirect_prefixes *prefixes);
