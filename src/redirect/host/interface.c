/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/interface.h"

#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "program/command.h"
#include "program/host/device.h"
#include "redirect/host/links.h"
#include "redirect/host/underlay.h"
#include "redirect/host/system.h"
#include "redirect/host/vlan.h"

/* Returns whether the kernel looks up routes of this family for eBPF. Without IPv6 in the kernel, IPv6 needs none. */
static bool forwarding_is_on(const char *family)
{
	long forwarding;

	return !system_setting(&forwarding, "net/%s/conf/lo/forwarding", family) || forwarding;
}

/*
 * The kernel looks up routes for eBPF only if forwarding is enabled on the interface in the query. The
 * program queries the loopback interface, which receives nothing that the host could forward. SYN cookies go to clients
 * of both families.
 */
int interface_check_forwarding(const struct redirect_settings *settings, const struct redirect_conf *conf)
{
	struct addresses addresses;
	const char *missing = NULL;

	if (settings->syn_cookies && !(forwarding_is_on("ipv4") && forwarding_is_on("ipv6")))
		return command_error(
			"--syn-cookies on: the kernel looks up routes for eBPF only if forwarding is enabled on lo: run sysctl -w net.ipv4.conf.lo.forwarding=1 net.ipv6.conf.lo.forwarding=1 (this does not make the host a router)");
	addresses_read(&addresses);
	if (underlay_has(conf, &addresses, NETADDR_V4) && !forwarding_is_on("ipv4"))
		missing = "ipv4";
	else if (underlay_has(conf, &addresses, NETADDR_V6) && !forwarding_is_on("ipv6"))
		missing = "ipv6";
	addresses_free(&addresses);
	if (missing && settings->forward == REDIRECT_FORWARD_FIB)
		return command_error(
			"--forward fib: the kernel looks up routes for eBPF only if forwarding is enabled on lo: run sysctl -w net.%s.conf.lo.forwarding=1 (this does not make the host a router)",
			missing);
	return COMMAND_OK;
}

/*
 * XDP looks up sockets with the index of its own interface. Sockets that are bound to a VRF have the index of the VRF,
 * and no kernel finds them for XDP. With them every established connection would look unknown.
 */
static int refuse_vrf(const char *interface, uint32_t ifindex)
{
	const struct net_link *link, *vrf;
	struct links links;
	int code = COMMAND_OK;

	if (links_read(&links) == 0 && (link = links_by_index(&links, ifindex)) && (vrf = links_vrf(&links, link)))
		code = command_error(
			"%s belongs to the VRF %s, and the kernel does not find the sockets of a VRF for XDP: take it out of the VRF (ip link set dev %s nomaster)",
			interface, vrf->name, interface);
	links_free(&links);
	return code;
}

/* In bytes. The network between director and proxy may not carry larger packets, even if this interface could. */
#define USUAL_MTU 1500

/* The program would recognize no packet on an interface without Ethernet headers, such as tun or WireGuard. */
int interface_read(const char *interface, uint32_t *ifindex, struct redirect_settings *settings)
{
	struct ifreq type = {0}, mtu;

	*ifindex = if_nametoindex(interface);
	if (!*ifindex)
		return command_error("there is no interface '%s'", interface);
	snprintf(type.ifr_name, sizeof(type.ifr_name), "%s", interface);
	mtu = type;
	if (device_ask(SIOCGIFHWADDR, &type) != 0 || device_ask(SIOCGIFMTU, &mtu) != 0)
		return command_error("%s: cannot read the interface's type and MTU: %s", interface, strerror(errno));
	if (type.ifr_hwaddr.sa_family != ARPHRD_ETHER && type.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK)
		return command_error(
			"%s is not an Ethernet interface: attach to the interface that receives GUE with Ethernet headers",
			interface);
	settings->mtu = (uint16_t)(mtu.ifr_mtu < USUAL_MTU ? mtu.ifr_mtu : USUAL_MTU);
	return refuse_vrf(interface, *ifindex);
}

int interface_check_tags(const char *interface, const struct redirect_conf *conf, bool attached)
{
	enum vlan_stripping stripping;
	struct addresses addresses;
	char vlan[IFNAMSIZ];
	int error;

	error = addresses_read(&addresses);
	if (!error)
		error = vlan_find(interface, &addresses, underlay_has(conf, &addresses, NETADDR_V6), &stripping, vlan);
	addresses_free(&addresses);
	if (error)
		return command_error("%s: cannot read the VLANs of the interface: %s", interface, strerror(-error));
	if (stripping == VLAN_STRIPPED && !attached)
		return command_error(
			"%s: GUE arrives with the tags of %s, which %s removes, so in native mode packets for the next hop would leave without a tag: run ethtool -K %s rxvlan off (on veth also ethtool -K PEER txvlan off), or use --mode generic",
			interface, vlan, interface, interface);
	if (stripping != VLAN_NOT_STRIPPED)
		command_note(
			"%s removes VLAN tags: if GUE arrives with the tags of %s, packets for the next hop leave without a tag: run ethtool -K %s rxvlan off (on veth also ethtool -K PEER txvlan off)",
			interface, vlan, interface);
	return COMMAND_OK;
}
