/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define MAPPED_BITS 96u /* length of ::ffff:0:0/96, which holds the IPv4 addresses */

static const uint8_t mapped[MAPPED_BITS / 8] = {[10] = 0xff, [11] = 0xff};

struct bifurcate_prefix vips_key(const struct netprefix *prefix)
{
	struct bifurcate_prefix key = {.bits = prefix->length};

	if (prefix->addr.family == NETADDR_V6) {
		memcpy(key.address, prefix->addr.bytes, sizeof(key.address));
		return key;
	}
	key.bits += MAPPED_BITS;
	memcpy(key.address, mapped, sizeof(mapped));
	memcpy(&key.address[3], prefix->addr.bytes, sizeof(key.address[3]));
	return key;
}

struct netprefix vips_prefix(const struct bifurcate_prefix *key)
{
	if (key->bits >= MAPPED_BITS && memcmp(key->address, mapped, sizeof(mapped)) == 0)
		return (struct netprefix){
			.addr = netaddr_from_bytes(NETADDR_V4, &key->address[3]),
			.length = (uint8_t)(key->bits - MAPPED_BITS),
		};
	return (struct netprefix){
		.addr = netaddr_from_bytes(NETADDR_V6, key->address),
		.length = (uint8_t)key->bits,
	};
}

int vips_compare(const void *one, const void *other)
{
	const struct bifurcate_prefix *a = one, *b = other;
	int order = memcmp(a->address, b->address, sizeof(a->address));

	return order ? order : (a->bits > b->bits) - (a->bits < b->bits);
}

bool vips_has(const struct vips *vips, const struct bifurcate_prefix *key)
{
	return vips->count && bsearch(key, vips->items, vips->count, sizeof(*key), vips_compare);
}

int vips_add(struct vips *vips, const struct bifurcate_prefix *prefix)
{
	struct bifurcate_prefix *item = array_append(&vips->items, &vips->count, sizeof(*item));

	if (!item)
		return -ENOMEM;
	*item = *prefix;
	return 0;
}

void vips_sort(struct vips *vips)
{
	uint32_t kept = 0;

	if (vips->count)
		qsort(vips->items, vips->count, sizeof(*vips->items), vips_compare);
	for (uint32_t i = 0; i < vips->count; i++)
		if (kept == 0 || vips_compare(&vips->items[kept - 1], &vips->items[i]) != 0)
			vips->items[kept++] = vips->items[i];
	vips->count = kept;
}

void vips_free(struct vips *vips)
{
	free(vips->items);
	*vips = (struct vips){0};
}

/* An IPv6 prefix that covers ::ffff:0:0/96 also covers all IPv4 addresses in the map, even if the director means IPv6
 * only. */
static bool takes_everything(const struct netprefix *prefix)
{
	const struct netaddr first_mapped = {.family = NETADDR_V6, .bytes = {[10] = 0xff, [11] = 0xff}};

	if (prefix->addr.family == NETADDR_V6 && prefix->length <= MAPPED_BITS && netprefix_covers(prefix, &first_mapped))
		return true;
	return prefix->length == 0;
}

static int add_bind(struct vips *vips, const struct table_set *set, uint32_t table, uint32_t bind, struct faults *faults)
{
	const struct netprefix *prefix = &set->tables[table].binds[bind].prefix;
	struct bifurcate_prefix key = vips_key(prefix);
	char text[NETPREFIX_TEXT_MAX], label[16];

	if (takes_everything(prefix)) {
		faults_error(faults, NULL,
			"table %s: bind %s would take all traffic from the kernel, SSH included: give it a longer prefix",
			table_label(set, table, label), netprefix_format(prefix, text));
		return -EINVAL;
	}
	if (vips_add(vips, &key) == 0)
		return 0;
	faults_error(faults, NULL, "out of memory");
	return -ENOMEM;
}

int vips_collect(const struct table_set *set, struct vips *vips, struct faults *faults)
{
	int error = 0;

	*vips = (struct vips){0};
	for (uint32_t i = 0; i < set->count && !error; i++)
		for (uint32_t j = 0; j < set->tables[i].bind_count && !error; j++)
			error = add_bind(vips, set, i, j, faults);
	vips_sort(vips);
	if (error)
		vips_free(vips);
	return error;
}

int vips_from_tables(const struct table_set *set, struct vips *vips, struct faults *faults)
{
	int error = vips_collect(set, vips, faults);

	if (!error && vips->count == 0) {
		faults_error(faults, NULL,
			"the table has no bind, so the map keeps its VIPs: glb-bifurcate clear removes them");
		error = -EINVAL;
	}
	if (!error && vips->count > BIFURCATE_MAX_VIPS) {
		faults_error(faults, NULL,
			"the binds have %zu different prefixes, but the map has room for %d: merge some", vips->count,
			BIFURCATE_MAX_VIPS);
		error = -E2BIG;
	}
	if (error)
		vips_free(vips);
	return error;
}
