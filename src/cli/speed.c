/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/speed.h"

#include <inttypes.h>

#include "cli/cli.h"
#include "common/netaddr.h"
#include "common/text.h"
#include "table/classify.h"
#include "table/file/json/json_text.h"

/* faults: gets the warnings. speed: NULL, or filled but for the warnings. */
static void find(const struct table_set *set, struct speed *speed, struct faults *faults)
{
	struct classifier *classifier = classify_build(set);
	struct portmap *portmap = classifier ? portmap_build(classifier, &portmap_limits) : NULL;

	if (!portmap)
		faults_warn(faults, "tables", "out of memory: what makes packets slower is not known");
	else
		slow_warn(set, portmap, faults);
	if (portmap && speed) {
		slow_lengths(portmap, NETADDR_V4, speed->v4);
		slow_lengths(portmap, NETADDR_V6, speed->v6);
		speed->port_maps = portmap->map_count - PORTMAP_CONSTANTS;
	}
	portmap_free(portmap);
	classify_free(classifier);
}

void speed_find(const struct table_set *set, struct speed *speed)
{
	*speed = (struct speed){0};
	find(set, speed, &speed->slow);
}

void speed_free(struct speed *speed)
{
	faults_clear(&speed->slow);
}

void speed_print(const struct speed *speed)
{
	command_print(2, "prefix lengths of IPv4 %s, of IPv6 %s; %" PRIu32 " port map%s", *speed->v4 ? speed->v4 : "none",
		*speed->v6 ? speed->v6 : "none", speed->port_maps, text_plural(speed->port_maps));
	for (size_t i = 0; i < speed->slow.count; i++)
		command_print(2, "slow: %s", speed->slow.items[i].text);
}

json_t *speed_json(const struct speed *speed)
{
	json_t *slow = json_array();

	for (size_t i = 0; i < speed->slow.count; i++)
		json_array_append_new(slow, json_text(speed->slow.items[i].text));
	return json_pack("{s:{s:s, s:s}, s:i, s:o}", "prefix_lengths", "ipv4", speed->v4, "ipv6", speed->v6,
		"port_maps", (int)speed->port_maps, "slow", slow);
}

void speed_warn(const struct table_set *set, struct faults *faults)
{
	find(set, NULL, faults);
}
