/* SPDX-License-Identifier: BSD-3-Clause */
/* The VIPs that this proxy serves: a list of addresses and prefixes without duplicates. Plain data; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/netaddr.h"
#include "redirect/config/redirect_conf.h"
#include "redirect/host/addresses.h"
#include "redirect/host/links.h"

#define VIPS_MAX 1024

struct vips {
	/* A prefix that is no single address has VIPs in it. */
	struct netprefix items[VIPS_MAX];
	size_t count;
	size_t left_out; /* that did not fit */
};

void vips_add(struct vips *vips, const struct netprefix *vip);

/* Adds the words of a list with commas. Returns false at the first word that is no address or prefix, and sets *word to
 * it. */
bool vips_add_list(struct vips *vips, const char *list, char word[NETPREFIX_TEXT_MAX]);
void vips_add_prefixes(struct vips *vips, const struct redirect_prefixes *prefixes);

/* Adds the addresses of the loopback interface to which other hosts can send. */
void vips_add_of_lo(struct vips *vips, const struct addresses *addresses, const struct links *links);

/* Returns the first item that covers the address, or NULL. */
const struct netprefix *vips_find(const struct vips *vips, const struct netaddr *address);
