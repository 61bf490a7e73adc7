/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the interface and of its driver. */
#include <inttypes.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

#include "redirect/check/check.h"
#include "redirect/check/features.h"
#include "redirect/kernel/losses.h"
#include "redirect/host/system.h"
#include "redirect/host/vlan.h"

void check_interface(struct check *check)
{
	const struct check_subject *subject = check->subject;
	const struct link *link = subject->link, *vrf;
	char command[FINDINGS_COMMAND_MAX];

	if (!link) {
		check_add(check, FINDINGS_FAIL, subject->interface, NULL,
			"there is no such interface in this network namespace");
		return;
	}
	vrf = links_vrf(&subject->links, link);
	if (link->type != ARPHRD_ETHER && link->type != ARPHRD_LOOPBACK) {
		check_add(check, FINDINGS_FAIL, link->name, NULL,
			"it has no Ethernet headers: use the interface that receives GUE with Ethernet headers");
	} else if (vrf) {
		snprintf(command, sizeof(command), "ip link set dev %s nomaster", link->name);
		check_add(check, FINDINGS_FAIL, link->name, command,
			"it belongs to the VRF %s, and the kernel does not find the sockets of a VRF for XDP", vrf->name);
	} else if (!(link->flags & IFF_UP)) {
		snprintf(command, sizeof(command), "ip link set dev %s up", link->name);
		check_add(check, FINDINGS_FAIL, link->name, command, "it is down");
	} else if (!(link->flags & IFF_RUNNING)) {
		check_add(check, FINDINGS_WARN, link->name, NULL,
			"it has no carrier: see the cable, the switch or the other end");
	} else {
		char driver[SYSTEM_DRIVER_MAX];

		system_driver(link->name, driver);
		check_ok(check, "up, driver %s, MTU %u", driver, link->mtu);
	}
}

/* Adds a finding if GUE can arrive with a VLAN tag that the card removes. Returns whether it did. */
static bool report_vlan(struct check *check)
{
	const struct check_subject *subject = check->subject;
	enum vlan_stripping stripping;
	char command[FINDINGS_COMMAND_MAX], vlan[IFNAMSIZ];

	if (subject->generic || vlan_find(subject->interface, &stripping, vlan) != 0 || stripping == VLAN_NOT_STRIPPED)
		return false;
	snprintf(command, sizeof(command), "ethtool -K %s rxvlan off", subject->interface);
	check_add(check, stripping == VLAN_STRIPPED ? FINDINGS_FAIL : FINDINGS_WARN, subject->interface, command,
		"rxvlan is on: the card removes the tags of %s before XDP sees them, so packets for the next hop leave without a tag (on veth also run ethtool -K PEER txvlan off)",
		vlan);
	return true;
}

void check_offloads(struct check *check)
{
	const char *name = check->subject->interface;
	bool reported = report_vlan(check);
	char command[FINDINGS_COMMAND_MAX];
	struct features features;

	if (!features_read(name, &features)) {
		check_ok(check, "not known: the driver does not tell its offloads");
		return;
	}
	if (features.lro) {
		snprintf(command, sizeof(command), "ethtool -K %s lro off", name);
		check_add(check, FINDINGS_FAIL, name, command,
			"LRO is on: it merges packets before XDP sees them, and drivers refuse native mode");
	}
	if (features.gro_hw) {
		snprintf(command, sizeof(command), "ethtool -K %s rx-gro-hw off", name);
		check_add(check, FINDINGS_WARN, name, command,
			"hardware GRO is on: it can merge packets before XDP sees them, and many drivers refuse native mode");
	}
	if (!reported && !features.lro && !features.gro_hw)
		check_ok(check, "no LRO, no hardware GRO, no VLAN tag is lost");
}

/* Adds a finding if packets for the next hop were lost although the driver can send them. Returns whether it did. */
static bool report_losses(struct check *check)
{
	uint64_t lost[LOSSES_COUNT];

	if (!check->subject->attached || losses_read(check->subject->interface, lost) != 0 ||
		!(lost[LOSSES_KERNEL] || lost[LOSSES_DRIVER]))
		return false;
	check_add(check, FINDINGS_WARN, check->subject->interface, NULL,
		"packets for the next hop were lost after the program: the kernel refused %" PRIu64
		", the driver %" PRIu64 " since attach: see if glb-redirect status shows more of them",
		lost[LOSSES_KERNEL], lost[LOSSES_DRIVER]);
	return true;
}

void check_transmit(struct check *check)
{
	const struct check_subject *subject = check->subject;
	const char *name = subject->interface;
	char command[FINDINGS_COMMAND_MAX];
	bool can, known = features_xdp_transmit(subject->link->index, &can);

	if ((!known || can || subject->generic) && report_losses(check))
		return;
	if (subject->attached && subject->generic)
		check_ok(check, "generic mode sends forwarded packets with any driver");
	else if (!known)
		check_ok(check, "not known: Linux %s does not tell whether the driver can send what XDP redirects",
			system_release());
	else if (can)
		check_ok(check, "the driver can send what XDP redirects");
	else if (strcmp(subject->link->kind, "veth") == 0)
		check_add(check, subject->attached ? FINDINGS_FAIL : FINDINGS_WARN, name, NULL,
			"the other end of this veth pair has no GRO, so packets for the next hop are lost: run ethtool -K PEER gro on there, or attach with --mode generic");
	else {
		snprintf(command, sizeof(command), "glb-redirect %s%s%sattach %s --mode generic",
			subject->attached ? "detach " : "", subject->attached ? name : "",
			subject->attached ? "; glb-redirect " : "", name);
		check_add(check, subject->attached ? FINDINGS_FAIL : FINDINGS_WARN, name, command,
			"its driver cannot send what XDP redirects (no ndo_xdp_xmit), so packets for the next hop are lost in native mode");
	}
}
