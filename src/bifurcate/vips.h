/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of VIPs as keys of the map: sorted, each once. The caller owns a list and calls vips_free(). Pure,
 * thread-safe. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bifurcate/bifurcate.h"
#include "common/faults.h"
#include "common/netaddr.h"
#include "table/table.h"

struct vips {
	size_t count;
	struct bifurcate_prefix *items;
};

/*
 * Collects the prefixes of all binds, without their ports. Returns 0; or -errno with an error in faults, and the list
 * is empty: one would take all traffic of a family from the kernel.
 */
int vips_collect(const struct table_set *set, struct vips *vips, struct faults *faults);

/* The same for the map. It is also an error if there is no bind, or if there are more prefixes than the map
 * can hold. */
int vips_from_tables(const struct table_set *set, struct vips *vips, struct faults *faults);

/* Adds a prefix at the end. Returns 0 or -ENOMEM. Call vips_sort() after the last one. */
int vips_add(struct vips *vips, const struct bifurcate_prefix *prefix);
void vips_sort(struct vips *vips);
void vips_free(struct vips *vips);

/* Returns whether a sorted list has this key. */
bool vips_has(const struct vips *vips, const struct bifurcate_prefix *key);

/* Orders keys: <0, 0, >0. */
int vips_compare(const void *one, const void *other);

/* The prefix of a bind, as a key; and back. A key that is no IPv4-mapped address is an IPv6 prefix. */
struct bifurcate_prefix vips_key(const struct netprefix *prefix);
struct netprefix vips_prefix(const struct bifurcate_prefix *key);
