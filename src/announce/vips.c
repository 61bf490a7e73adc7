/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/vips.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

const char *vips_state_name(enum vips_state state)
{
	static const char *const names[] = {
		[VIPS_UNKNOWN] = "unknown",
		[VIPS_ANNOUNCED] = "announced",
		[VIPS_WITHDRAWN] = "withdrawn",
	};

	return names[state];
}

static bool decide(struct vip *vip, enum vips_state wish, const char *reason)
{
	if (vip->wish == wish)
		return false;
	vip->wish = wish;
	snprintf(vip->reason, sizeof(vip->reason), "%s", reason);
	text_mend(vip->reason); /* a character may be cut */
	return true;
}

/*
 * Before the first decision nobody knows whether the VIP is announced, for instance by an earlier process that was killed. It stays as
 * it is until `rise` good or `fall` bad answers in a row, so that a new start of this program does not withdraw it.
 */
static bool feed_undecided(struct vip *vip, bool good, const char *reason, const struct vips_rule *rule)
{
	if (good) {
		vip->bad = 0;
		return false;
	}
	if (++vip->bad < rule->damper.trigger_unhealthy)
		return false;
	return decide(vip, VIPS_WITHDRAWN, reason);
}

bool vips_feed(struct vip *vip, enum vips_answer answer, const char *reason, const struct vips_rule *rule, uint64_t now_ms)
{
	unsigned steps = answer == VIPS_GONE ? rule->damper.trigger_unhealthy : 1;
	bool good = answer == VIPS_GOOD;

	if (answer == VIPS_SILENT && rule->fail_static)
		return false;
	if (vip->damper.verdict == DAMPER_UNKNOWN)
		vip->damper.verdict = DAMPER_UNHEALTHY; /* so that `rise` good answers are needed */
	for (unsigned i = 0; i < steps; i++)
		vip->fell |= damper_step(&vip->damper, good, &rule->damper, now_ms) && !good;
	vip->damper.recovered &= vip->fell;
	if (vip->damper.verdict == DAMPER_HEALTHY)
		return decide(vip, VIPS_ANNOUNCED, reason);
	if (answer == VIPS_GONE || vip->wish != VIPS_UNKNOWN)
		return decide(vip, VIPS_WITHDRAWN, reason);
	return feed_undecided(vip, good, reason, rule);
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
