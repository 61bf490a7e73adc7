/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/vips.h"

#include <stdlib.h>

const char *vips_state_name(enum vips_state state)
{
	static const char *const names[] = {
		[VIPS_UNKNOWN] = "unknown",
		[VIPS_ANNOUNCED] = "announced",
		[VIPS_WITHDRAWN] = "withdrawn",
	};

	return names[state];
}

struct vip *vips_find(const struct vips *vips, const struct netprefix *prefix)
{
	for (size_t i = 0; i < vips->count; i++)
		if (vips->items[i].prefix.length == prefix->length &&
			netaddr_compare(&vips->items[i].prefix.addr, &prefix->addr) == 0)
			return &vips->items[i];
	return NULL;
}

/* There is room for one more. */
static void keep(struct vips *vips, const struct netprefix *prefix, bool is_probe)
{
	struct vip *vip = vips_find(vips, prefix);

	if (!vip) {
		vip = &vips->items[vips->count++];
		*vip = (struct vip){.prefix = *prefix};
	}
	vip->gone = false;
	vip->is_probe = is_probe;
}

bool vips_replace(struct vips *vips, const struct netprefix *prefixes, size_t count, const struct netprefix *probe)
{
	struct vip *items = realloc(vips->items, (vips->count + count + 1) * sizeof(*items));

	if (!items)
		return false;
	vips->items = items;
	for (size_t i = 0; i < vips->count; i++)
		items[i].gone = true;
	for (size_t i = 0; i < count; i++)
		keep(vips, &prefixes[i], false);
	if (probe)
		keep(vips, probe, true);
	return true;
}

void vips_forget(struct vips *vips)
{
	size_t kept = 0;

	for (size_t i = 0; i < vips->count; i++)
		if (!vips->items[i].gone || vips->items[i].state != VIPS_WITHDRAWN)
			vips->items[kept++] = vips->items[i];
	vips->count = kept;
}

void vips_free(struct vips *vips)
{
	free(vips->items);
	*vips = (struct vips){0};
}
