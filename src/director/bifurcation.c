/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/bifurcation.h"

#include <limits.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "bifurcate/claim.h"
#include "bifurcate/vip_map.h"
#include "common/text.h"
#include "director/ports/vdev.h"
#include "program/log.h"

#define OBJECT "bifurcate.bpf.o" /* the file name of our program */

/* DPDK cannot load our program without its map. It says so in messages of libbpf, and not what to do. */
static int need_map(struct faults *faults)
{
	int map = vip_map_open(true, faults);

	if (map < 0)
		return map;
	close(map);
	return 0;
}

int bifurcation_claim(const char *vdev)
{
	char interface[IFNAMSIZ], program[PATH_MAX];
	struct faults faults = {0};
	bool has_program;
	int result;

	if (strncmp(vdev, "net_af_xdp", strlen("net_af_xdp")) != 0 ||
		!vdev_value(vdev, "iface", interface, sizeof(interface)))
		return 0;
	has_program = vdev_value(vdev, "xdp_prog", program, sizeof(program));
	result = claim_interface(interface, has_program ? program : NULL, &faults);
	if (result > 0)
		log_notice("%s: removed the XDP program that a killed director left", interface);
	if (result >= 0)
		result = has_program && strcmp(basename(program), OBJECT) == 0 ? need_map(&faults) : 0;
	log_faults(&faults, FAULTS_ALL);
	return result;
}

static bool has_our_program(const struct director *director)
{
	for (uint16_t i = 0; i < director->ports.count; i++)
		if (strcmp(director->ports.list[i].info.driver_name, "net_af_xdp") == 0 &&
			claim_has_our_program(director->ports.list[i].info.if_index))
			return true;
	return false;
}

/* Returns the number of VIPs in the map, or -errno. */
static int count_vips(int map, struct faults *faults)
{
	struct vips vips;
	int error = vip_map_read(map, &vips, faults), count = (int)vips.count;

	vips_free(&vips);
	return error ? error : count;
}

static void log_change(const struct vips *vips, const struct vip_map_change *change)
{
	struct faults warnings = {0};

	if (!change->added && !change->removed)
		return;
	log_notice(VIP_MAP_PATH " follows the forwarding table: %zu VIP%s, %u added, %u removed", vips->count,
		text_plural(vips->count), change->added, change->removed);
	vip_map_warn_own_addresses(vips, &warnings);
	log_faults(&warnings, FAULTS_ALL);
}

static void fill(int map, const struct table_set *set, struct faults *faults)
{
	struct vip_map_change change;
	struct vips vips;

	if (vips_from_tables(set, &vips, faults))
		return;
	if (vip_map_set(map, &vips, &change, faults) == 0)
		log_change(&vips, &change);
	vips_free(&vips);
}

void bifurcation_follow(const struct director *director)
{
	struct faults faults = {.file = "the map of VIPs does not follow the forwarding table"};
	int map, count;

	if (!has_our_program(director))
		return;
	map = vip_map_open(false, &faults);
	count = map < 0 ? map : count_vips(map, &faults);
	if (count == 0)
		log_warning(VIP_MAP_PATH " has no VIP, so the kernel receives all packets: run glb-bifurcate sync %s",
			director->options.forwarding_table);
	else if (count > 0)
		fill(map, &director->shared.live->routes->set, &faults);
	if (map >= 0)
		close(map);
	log_faults(&faults, FAULTS_ALL);
}
