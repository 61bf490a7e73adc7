/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/served.h"

#include <errno.h>
#include <stdlib.h>

#include "redirect/kernel/pins.h"

/* What the attached programs allow. */
struct allowed {
	struct vips *vips;
	bool local; /* the addresses of lo, too */
};

static int add_allowed(const struct pins *pins, struct allowed *allowed)
{
	struct redirect_prefixes prefixes = {.any = true};
	struct redirect_settings settings;
	int error = pins_read_settings(pins, &settings);

	if (!error && !settings.allow_to_local && pins->lists.prefixes >= 0)
		error = lists_read(&pins->lists, REDIRECT_LIST_TO, &prefixes);
	if (prefixes.any)
		allowed->local = true;
	else
		vips_add_prefixes(allowed->vips, &prefixes);
	free(prefixes.items);
	return error;
}

static int add_of_program(const char *interface, void *data)
{
	struct pins_location location;
	struct pins pins;

	int error = pins_open(interface, &pins);

	if (error)
		return error == -ENOENT ? 0 : error; /* it was detached meanwhile */
	error = pins_locate(interface, &pins, &location);
	if (!error && (location.place == PINS_HERE || location.place == PINS_RENAMED))
		error = add_allowed(&pins, data);
	pins_close(&pins);
	return error;
}

static int add_of_lo(struct vips *vips)
{
	struct addresses addresses = {0};
	struct links links;
	int error = links_read(&links);

	if (!error)
		error = addresses_read(&addresses);
	if (!error)
		vips_add_of_lo(vips, &addresses, &links);
	addresses_free(&addresses);
	links_free(&links);
	return error;
}

/* Addresses come before the prefixes that cover them, so that vips_find() finds the longest prefix. */
static int compare_vips(const void *one, const void *other)
{
	const struct netprefix *a = one, *b = other;

	return a->length != b->length ? b->length - a->length : netaddr_compare(&a->addr, &b->addr);
}

int served_read(struct vips *vips)
{
	struct allowed allowed = {.vips = vips};
	int error;

	*vips = (struct vips){0};
	error = pins_for_each(add_of_program, &allowed);
	if (!error && (allowed.local || !vips->count))
		error = add_of_lo(vips);
	qsort(vips->items, vips->count, sizeof(*vips->items), compare_vips);
	return error;
}
