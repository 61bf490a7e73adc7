/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the interface and of its driver. */
#include <inttypes.h>
#include <net/if_arp.h>
#include <string.h>

#include "redirect/check/check.h"
#include "redirect/check/features.h"
#include "redirect/kernel/losses.h"
#include "redirect/host/system.h"
#include "redirect/host/vlan.h"

static const struct finding no_interface = {FINDINGS_FAIL, NULL, "there is no such interface in this network namespace"};
static const struct finding no_ethernet = {
	FINDINGS_FAIL, NULL, "it has no Ethernet headers: use the interface that receives GUE with Ethernet headers"};
static const struct finding in_vrf = {FINDINGS_FAIL, "ip link set dev {0} nomaster",
	"it belongs to the VRF {1}, and the kernel does not find the sockets of a VRF for XDP"};
static const struct finding down = {FINDINGS_FAIL, "ip link set dev {0} up", "it is down"};
static const struct finding no_carrier = {
	FINDINGS_WARN, NULL, "it has no carrier: see the cable, the switch or the other end"};
/* It fails if GUE can arrive only with a tag. */
static const struct finding strips_tags = {FINDINGS_WARN, "ethtool -K {0} rxvlan off",
	"rxvlan is on: the card removes the tags of {1} before XDP sees them, so packets for the next hop leave without a tag (on veth also run ethtool -K PEER txvlan off)"};
static const struct finding lro = {FINDINGS_FAIL, "ethtool -K {0} lro off",
	"LRO is on: it merges packets before XDP sees them, and drivers refuse native mode"};
static const struct finding hardware_gro = {FINDINGS_WARN, "ethtool -K {0} rx-gro-hw off",
	"hardware GRO is on: it can merge packets before XDP sees them, and many drivers refuse native mode"};
static const struct finding loses = {FINDINGS_WARN, NULL,
	"packets for the next hop were lost after the program: the kernel refused {1}, the driver {2} since attach: see if glb-redirect status shows more of them"};
/* Both fail if the program is attached. */
static const struct finding veth_without_gro = {FINDINGS_WARN, NULL,
	"the other end of this veth pair has no GRO, so packets for the next hop are lost: run ethtool -K PEER gro on there, or attach with --mode generic"};
static const struct finding no_transmit = {FINDINGS_WARN, "glb-redirect {1}attach {0} --mode generic",
	"its driver cannot send what XDP redirects (no ndo_xdp_xmit), so packets for the next hop are lost in native mode"};

void check_interface(void *subject)
{
	const struct check *check = subject;
	const struct net_link *link = check->link, *vrf = link ? links_vrf(&check->links, link) : NULL;
	char driver[SYSTEM_DRIVER_MAX];

	if (!link) {
		findings_add(&no_interface, check->interface);
	} else if (link->type != ARPHRD_ETHER && link->type != ARPHRD_LOOPBACK) {
		findings_add(&no_ethernet, link->name);
	} else if (vrf) {
		findings_add(&in_vrf, link->name, vrf->name);
	} else if (!(link->flags & IFF_UP)) {
		findings_add(&down, link->name);
	} else if (!(link->flags & IFF_RUNNING)) {
		findings_add(&no_carrier, link->name);
	} else {
		system_driver(link->name, driver);
		findings_ok(link->name, "up, driver %s, MTU %u", driver, link->mtu);
	}
}

/* Adds a finding if GUE can arrive with a VLAN tag that the card removes. */
static void report_vlan(const struct check *check)
{
	struct finding strips = strips_tags;
	enum vlan_stripping stripping;
	char vlan[IFNAMSIZ];

	if (check->generic || vlan_find(check->interface, &stripping, vlan) != 0 || stripping == VLAN_NOT_STRIPPED)
		return;
	strips.level = stripping == VLAN_STRIPPED ? FINDINGS_FAIL : FINDINGS_WARN;
	findings_add(&strips, check->interface, vlan);
}

void check_offloads(void *subject)
{
	const struct check *check = subject;
	struct features features;

	report_vlan(check);
	if (!features_read(check->interface, &features)) {
		findings_ok(check->interface, "not known: the driver does not tell its offloads");
		return;
	}
	if (features.lro)
		findings_add(&lro, check->interface);
	if (features.gro_hw)
		findings_add(&hardware_gro, check->interface);
	if (findings_none())
		findings_ok(check->interface, "no LRO, no hardware GRO, no VLAN tag is lost");
}

/* Adds a finding if packets for the next hop were lost although the driver can send them. */
static void report_losses(const struct check *check)
{
	uint64_t lost[LOSSES_COUNT];

	if (check->attached && losses_read(check->interface, lost) == 0 && (lost[LOSSES_KERNEL] || lost[LOSSES_DRIVER]))
		findings_add(&loses, check->interface, findings_value("%" PRIu64, lost[LOSSES_KERNEL]),
			findings_value("%" PRIu64, lost[LOSSES_DRIVER]));
}

static void report_no_transmit(const struct check *check)
{
	struct finding lost = strcmp(check->link->kind, "veth") == 0 ? veth_without_gro : no_transmit;

	if (check->attached)
		lost.level = FINDINGS_FAIL;
	findings_add(&lost, check->interface,
		check->attached ? findings_value("detach %s; glb-redirect ", check->interface) : "");
}

void check_transmit(void *subject)
{
	const struct check *check = subject;
	bool can, known = features_xdp_transmit(check->link->index, &can);

	if (!known || can || check->generic)
		report_losses(check);
	if (!findings_none())
		return;
	if (check->attached && check->generic)
		findings_ok(check->interface, "generic mode sends forwarded packets with any driver");
	else if (!known)
		findings_ok(check->interface,
			"not known: Linux %s does not tell whether the driver can send what XDP redirects",
			system_release());
	else if (can)
		findings_ok(check->interface, "the driver can send what XDP redirects");
	else
		report_no_transmit(check);
}
