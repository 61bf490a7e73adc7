/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of sizes, offloads and routes. */
#include <inttypes.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "program/host/interface.h"
#include "cli/live/snapshot.h"
#include "common/array.h"
#include "common/text.h"
#include "gue/encapsulate.h"

#define FIXED_GATEWAY "not needed: outbound_gateway_mac is a fixed address"
#define NO_PROXY      "not needed: no table has a proxy"
#define CLIENT_MTU    1500 /* bytes, the largest packet of most clients */
#define SCOPE_LINK    0x20 /* in /proc/net/if_inet6: of a link-local address */

static const struct finding small_mtu = {FINDINGS_FAIL, "ip link set dev {0} mtu {2}",
	"its MTU of {1} is less than outbound_mtu ({2}), so packets of large uploads are lost"};
static const struct finding no_room = {FINDINGS_WARN, NULL,
	"packets of {1} bytes need {2} with their outer headers, and outbound_mtu is {3}, so large uploads can hang: raise the MTU of the network and outbound_mtu, or set send_icmp_too_big = true and advmss on the proxies"};
static const struct finding merges = {FINDINGS_WARN, "ethtool -K {0}{2}{3}",
	"{1} merges packets before the director gets them, and the merged ones are too big to forward (drop_too_big, drop_truncated)"};
static const struct finding no_next_hop = {FINDINGS_FAIL, NULL,
	"{1} of {2} proxies have no reachable next hop, so their packets are dropped: glb-director-cli next-hops names them and the reasons"};
static const struct finding next_hop_lost = {FINDINGS_WARN, NULL,
	"{1} of {2} next hops do not reply, so the others carry their packets: glb-director-cli next-hops names them"};
static const struct finding no_route = {FINDINGS_FAIL, NULL,
	"the kernel has no route to this proxy{1}, so its packets are dropped: add one (ip route), or see the routing daemon"};
static const struct finding no_link_local = {FINDINGS_FAIL, NULL,
	"it has no IPv6 link-local address, or a duplicate one (ip -6 addr), so the kernel sends no neighbour solicitation for the director there and packets to IPv6 proxies are lost: set net.ipv6.conf.{0}.addr_gen_mode to 0, or add an address in fe80::/64"};

/* Writes the kernel's interface whose MTU limits the port: itself, or the PF of a VF. Returns false if there
 * is none. */
static bool limiting_interface(const struct doctor *doctor, const struct eal_args_port *port, char name[HOST_ENTRY_MAX])
{
	if (port->pci)
		return host_first(doctor_pci(doctor, port, "physfn/net"), name);
	snprintf(name, HOST_ENTRY_MAX, "%s", port->interface);
	return *name;
}

/* Returns whether a port before this one has the same limit. */
static bool is_limited_before(const struct doctor *doctor, size_t index, const char *name)
{
	char other[HOST_ENTRY_MAX];

	for (size_t i = 0; i < index; i++)
		if (limiting_interface(doctor, &doctor->eal.ports[i], other) && strcmp(name, other) == 0)
			return true;
	return false;
}

static void report_port_mtu(const struct doctor *doctor, size_t index)
{
	uint16_t wanted = doctor->conf.steering.outbound_mtu;
	struct interface interface;
	char name[HOST_ENTRY_MAX];

	if (limiting_interface(doctor, &doctor->eal.ports[index], name) &&
		interface_read(&doctor->host, name, &interface) && interface.mtu < wanted &&
		!is_limited_before(doctor, index, name))
		findings_add(&small_mtu, name, findings_value("%u", interface.mtu), findings_value("%u", wanted));
}

/* Returns the size of the largest packet of most clients with the outer headers of the table. */
static unsigned needed_mtu(const struct doctor *doctor, uint32_t index)
{
	const struct table *table = &doctor->table.tables[index];
	unsigned hops = table->hops * (doctor->conf.steering.alt_hash_fields ? 2 : 1);
	bool ipv6 = table->backend_count && table->backends[0].addr.family == NETADDR_V6;

	return CLIENT_MTU + encapsulate_outer_size(ipv6, encapsulate_hops(ipv6, hops));
}

/* Adds one finding for all tables that need this MTU, if this is the first of them. */
static void report_overhead(const struct doctor *doctor, uint32_t first)
{
	const struct steering_config *steering = &doctor->conf.steering;
	unsigned needed = needed_mtu(doctor, first);
	struct text_list tables = {0};
	char label[16];

	if (steering->outbound_mtu >= needed || steering->send_too_big)
		return;
	for (uint32_t i = 0; i < doctor->table.count; i++) {
		if (needed_mtu(doctor, i) != needed)
			continue;
		if (i < first)
			return;
		text_list_add(&tables, table_label(&doctor->table, i, label));
	}
	findings_add(&no_room, tables.text, findings_value("%d", CLIENT_MTU), findings_value("%u", needed),
		findings_value("%u", steering->outbound_mtu));
}

void doctor_mtu(void *subject)
{
	const struct doctor *doctor = subject;
	const struct steering_config *steering = &doctor->conf.steering;

	if (doctor->conf_error) {
		findings_ok("", "not known: director.conf cannot be read");
		return;
	}
	for (size_t i = 0; i < doctor->eal.port_count; i++)
		report_port_mtu(doctor, i);
	for (uint32_t i = 0; i < doctor->table.count; i++)
		report_overhead(doctor, i);
	if (!findings_none())
		return;
	if (doctor->table_error && !steering->send_too_big)
		findings_ok("",
			"not known: outbound_mtu is %u, and the table that needs room for outer headers cannot be read",
			steering->outbound_mtu);
	else
		findings_ok("", "outbound_mtu is %u%s", steering->outbound_mtu,
			steering->send_too_big ? ", and clients that send more get a too-big reply" : "");
}

static void report_merging(const struct eal_args_port *port)
{
	struct interface_merging merging = interface_merges(port->interface);
	/* AF_XDP gets packets before GRO. */
	bool lro = merging.lro, gro = strncmp(port->name, "net_af_packet", 13) == 0 && merging.gro;

	if (lro || gro)
		findings_add(&merges, port->interface, lro ? "LRO" : "GRO", lro ? " lro off" : "", gro ? " gro off" : "");
}

void doctor_offloads(void *subject)
{
	const struct doctor *doctor = subject;
	bool has_interface = false, missing = false;
	struct interface interface;

	for (size_t i = 0; i < doctor->eal.port_count && !doctor->is_copy; i++) {
		const struct eal_args_port *port = &doctor->eal.ports[i];

		if (!*port->interface)
			continue;
		has_interface = true;
		missing |= !interface_read(&doctor->host, port->interface, &interface);
		report_merging(port);
	}
	if (doctor->is_copy)
		findings_ok("", "not needed: a copy of a host has no offloads");
	else if (!has_interface)
		findings_ok("", "not needed: the director sets the offloads of its cards");
	else if (findings_none())
		findings_ok("", missing ? "not known: an interface is missing" : "no interface merges packets");
}

struct kernel_routes {
	struct route {
		struct netprefix prefix;
		char interface[IFNAMSIZ]; /* of an IPv6 route; empty: it leads to this host itself */
		bool refuses, used; /* used: it is the route to a proxy */
	} * items;
	size_t count;
};

/* Returns false if the line has no route. Addresses in /proc/net/route are numbers of the host's order. */
static bool parse_route(const char *line, enum netaddr_family family, struct route *route)
{
	uint32_t network, mask, metric, flags, length;
	char text[33], interface[IFNAMSIZ];
	uint8_t bytes[16];

	*route = (struct route){0};
	if (family == NETADDR_V4) {
		if (sscanf(line, "%15s %" SCNx32 " %*x %*x %*u %*u %*u %" SCNx32, interface, &network, &mask) != 3)
			return false;
		route->prefix.addr = netaddr_from_bytes(family, &network);
		route->prefix.length = (uint8_t)__builtin_popcount(mask);
		route->refuses = strcmp(interface, "*") == 0;
		return true;
	}
	if (sscanf(line, "%32s %" SCNx32 " %*s %*x %*s %" SCNx32 " %*x %*x %" SCNx32 " %15s", text, &length, &metric,
		    &flags, route->interface) != 5 ||
		!text_bytes(text, bytes, sizeof(bytes)) || metric == UINT32_MAX)
		return false; /* the last metric is that of the kernel's entry for "no route" */
	route->prefix.addr = netaddr_from_bytes(family, bytes);
	route->prefix.length = (uint8_t)length;
	route->refuses = flags & RTF_REJECT;
	if (flags & RTF_LOCAL)
		*route->interface = '\0';
	return true;
}

/* Reads the kernel's tables once, because they may have a million routes. */
static void read_routes(const struct doctor *doctor, enum netaddr_family family, struct kernel_routes *routes)
{
	const char *path = family == NETADDR_V4 ? "/proc/net/route" : "/proc/net/ipv6_route";
	FILE *file = host_open(host_path(&doctor->host, "%s", path));
	char line[HOST_LINE_MAX];
	struct route route, *added;

	while (file && fgets(line, sizeof(line), file)) {
		if (!parse_route(line, family, &route))
			continue;
		added = array_append(&routes->items, &routes->count, sizeof(route));
		if (!added)
			break;
		*added = route;
	}
	if (file)
		fclose(file);
}

/* Returns the longest match, or NULL if it refuses the packets. The first of equal routes has the lowest metric. */
static struct route *find_route(const struct kernel_routes *routes, const struct netaddr *address)
{
	struct route *best = NULL;

	for (size_t i = 0; i < routes->count; i++) {
		struct route *route = &routes->items[i];

		if ((!best || route->prefix.length > best->prefix.length) && netprefix_covers(&route->prefix, address))
			best = route;
	}
	return best && !best->refuses ? best : NULL;
}

/* Returns the first proxy of the table without a route, or NULL. Counts the proxies, and marks their routes. */
static const struct table_backend *without_route(
	const struct kernel_routes *routes, const struct table *table, uint64_t *proxies)
{
	const struct table_backend *first = NULL;

	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];
		struct route *route;

		if (backend->state == TABLE_INACTIVE)
			continue;
		++*proxies;
		route = find_route(routes, &backend->addr);
		if (route)
			route->used = true;
		else if (!first)
			first = backend;
	}
	return first;
}

/* Returns whether the interface has a link-local address that the kernel may use. */
static bool has_link_local(const struct doctor *doctor, const char *interface)
{
	FILE *file = host_open(host_path(&doctor->host, "/proc/net/if_inet6"));
	bool found = !file; /* a copy without this file does not tell */
	char line[HOST_LINE_MAX], name[IFNAMSIZ];
	unsigned scope, flags;

	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*s %*x %*x %x %x %15s", &scope, &flags, name) == 3 && scope == SCOPE_LINK &&
			!(flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) && strcmp(name, interface) == 0;
	if (file)
		fclose(file);
	return found;
}

static bool is_first_use(const struct kernel_routes *routes, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (routes->items[i].used && strcmp(routes->items[i].interface, routes->items[index].interface) == 0)
			return false;
	return true;
}

/* The kernel sends no neighbour solicitation for the director on an interface without a link-local address. */
static void report_link_local(
	const struct doctor *doctor, const struct kernel_routes *routes, const struct finding *finding)
{
	for (size_t i = 0; i < routes->count; i++) {
		const struct route *route = &routes->items[i];

		if (route->used && *route->interface && is_first_use(routes, i) &&
			!has_link_local(doctor, route->interface))
			findings_add(finding, route->interface);
	}
}

/* It is only a warning while the director has a next hop of every proxy, because the kernel remembers them. */
static void check_live_link_local(const struct doctor *doctor)
{
	struct finding finding = no_link_local;
	struct kernel_routes routes = {0};
	uint64_t proxies = 0;

	if (doctor->conf_error || doctor->table_error || *doctor->conf.outbound_vrf || !doctor->conf.gateway_auto)
		return;
	if (findings_none())
		finding.level = FINDINGS_WARN;
	read_routes(doctor, NETADDR_V6, &routes);
	for (uint32_t i = 0; i < doctor->table.count; i++)
		without_route(&routes, &doctor->table.tables[i], &proxies);
	report_link_local(doctor, &routes, &finding);
	free(routes.items);
}

static const char *count_of(const json_t *set, const char *key)
{
	return findings_value("%" JSON_INTEGER_FORMAT, member_number(set, key));
}

static void check_live_next_hops(const struct doctor *doctor)
{
	json_t *sets = json_object_get(doctor->director.next_hops, "sets"), *set;
	json_int_t proxies = 0;
	const char *key;

	json_object_foreach(sets, key, set)
	{
		proxies += member_number(set, "backend_count");
		if (member_number(set, "without_count"))
			findings_add(&no_next_hop, member_text(set, "port"), count_of(set, "without_count"),
				count_of(set, "backend_count"));
		else if (member_number(set, "unreachable"))
			findings_add(&next_hop_lost, member_text(set, "port"), count_of(set, "unreachable"),
				count_of(set, "next_hop_count"));
	}
	check_live_link_local(doctor);
	if (!findings_none())
		return;
	if (!json_object_size(sets))
		findings_ok("", "not known: the director does not tell its next hops");
	else if (doctor->conf_error == 0 && !doctor->conf.gateway_auto)
		findings_ok("", FIXED_GATEWAY);
	else
		findings_ok("", proxies ? "every proxy has a next hop" : NO_PROXY);
}

static void check_routes(const struct doctor *doctor)
{
	const struct table_backend *first = NULL;
	struct kernel_routes routes = {0};
	char text[NETADDR_TEXT_MAX];
	const char *others = "";
	uint32_t tables = 0;
	uint64_t proxies = 0;

	read_routes(doctor, NETADDR_V4, &routes);
	read_routes(doctor, NETADDR_V6, &routes);
	for (uint32_t i = 0; i < doctor->table.count; i++) {
		const struct table_backend *backend = without_route(&routes, &doctor->table.tables[i], &proxies);

		tables += backend != NULL;
		first = first ? first : backend;
	}
	report_link_local(doctor, &routes, &no_link_local);
	free(routes.items);
	if (tables > 1)
		others = findings_value(", nor to a proxy of %u other table%s", tables - 1, text_plural(tables - 1));
	if (first)
		findings_add(&no_route, netaddr_format(&first->addr, text), others);
	else if (findings_none())
		findings_ok("", proxies ? "the kernel has a route to every proxy" : NO_PROXY);
}

void doctor_next_hops(void *subject)
{
	const struct doctor *doctor = subject;

	if (doctor->running)
		check_live_next_hops(doctor);
	else if (doctor->conf_error || doctor->table_error)
		findings_ok("", "not known: " DOCTOR_UNREADABLE);
	else if (*doctor->conf.outbound_vrf)
		findings_ok("", "not known: the routes are in a VRF, and no director runs");
	else if (!doctor->conf.gateway_auto)
		findings_ok("", FIXED_GATEWAY);
	else if (!host_exists(host_path(&doctor->host, "/proc/net/route")))
		findings_ok("", "not known: there is no /proc/net/route");
	else
		check_routes(doctor);
}
