/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/attached.h"

#include <stdio.h>

#include "redirect/kernel/next.h"

const char *const attached_counter_names[REDIRECT_COUNTER_COUNT] = {
#define X(symbol, name, help) [REDIRECT_##symbol] = name,
	REDIRECT_COUNTER_LIST(X)
#undef X
};

static void read_counters(const struct pins *pins, struct attached *attached)
{
	uint32_t known = pins_known_counters(pins);

	if (known && pins_sum(pins->counters, known, attached->counters) == 0)
		attached->counter_count = known;
	attached->has_hops = pins_has_hops(pins) && pins_sum(pins->hops, REDIRECT_HOPS, attached->hops) == 0;
	attached->has_losses = losses_read(attached->interface, attached->losses) == 0;
}

void attached_read(const char *interface, const struct pins *pins, struct attached *attached)
{
	*attached = (struct attached){.ifindex = pins->link_ifindex, .program_id = pins->program_id};
	snprintf(attached->interface, sizeof(attached->interface), "%s", interface);
	attached->next_id = next_find(pins);
	attached->has_settings = pins_read_settings(pins, &attached->settings) == 0;
	/* Versions without lists refuse nobody. */
	attached->open = pins->lists.prefixes < 0 || lists_has_any(&pins->lists, REDIRECT_LIST_FROM);
	read_counters(pins, attached);
	attached->location_error = pins_locate(interface, pins, &attached->location);
	if (attached_here(attached))
		attached->companion_error = companion_find(interface, attached->ifindex, &attached->companion);
}

bool attached_here(const struct attached *attached)
{
	return !attached->location_error && attached->location.place == PINS_HERE;
}
