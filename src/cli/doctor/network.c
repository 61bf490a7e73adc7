/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of sizes, offloads and routes. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "program/host/interface.h"
#include "cli/live/snapshot.h"
#include "common/text.h"
#include "gue/gue_wire.h"

#define FIXED_GATEWAY "outbound_gateway_mac is a fixed address"
#define CLIENT_MTU    1500 /* bytes, the largest packet of most clients */

/* Writes the kernel's interface whose MTU limits the port: itself, or the PF of a VF. Returns false if there
 * is none. */
static bool limiting_interface(const struct doctor *doctor, const struct eal_args_port *port, char name[HOST_ENTRY_MAX])
{
	if (port->pci)
		return host_first(host_path(&doctor->host, "/sys/bus/pci/devices/%s/physfn/net", port->name), name);
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

/* Returns whether a finding was added. */
static bool report_port_mtu(struct doctor *doctor, size_t index)
{
	uint16_t wanted = doctor->conf.steering.outbound_mtu;
	struct interface interface;
	char name[HOST_ENTRY_MAX];

	if (!limiting_interface(doctor, &doctor->eal.ports[index], name) ||
		!interface_read(&doctor->host, name, &interface) || interface.mtu >= wanted ||
		is_limited_before(doctor, index, name))
		return false;
	findings_add(&doctor->findings, FINDINGS_FAIL, name, host_command("ip link set dev %s mtu %u", name, wanted),
		"its MTU of %u is less than outbound_mtu (%u), so packets of large uploads are lost", interface.mtu,
		wanted);
	return true;
}

/* Returns the size of the largest packet of most clients with the outer headers of the table. */
static unsigned needed_mtu(const struct doctor *doctor, uint32_t index)
{
	unsigned hops = doctor->table.tables[index].hops * (doctor->conf.steering.alt_hash_fields ? 2 : 1);

	return CLIENT_MTU + GUE_OUTER_SIZE(hops - 1);
}

/* Adds one finding for all tables that need this MTU, if this is the first of them. Returns whether it did. */
static bool report_overhead(struct doctor *doctor, uint32_t first)
{
	const struct steering_config *steering = &doctor->conf.steering;
	unsigned needed = needed_mtu(doctor, first);
	struct doctor_objects tables = {0};
	char label[16];

	if (steering->outbound_mtu >= needed || steering->send_too_big)
		return false;
	for (uint32_t i = 0; i < doctor->table.count; i++) {
		if (needed_mtu(doctor, i) != needed)
			continue;
		if (i < first)
			return false;
		doctor_objects_add(&tables, table_label(&doctor->table, i, label));
	}
	findings_add(&doctor->findings, FINDINGS_WARN, tables.text, NULL,
		"packets of %u bytes need %u with their outer headers, and outbound_mtu is %u, so large uploads can hang: raise the MTU of the network and outbound_mtu, or set send_icmp_too_big = true and advmss on the proxies",
		CLIENT_MTU, needed, steering->outbound_mtu);
	return true;
}

void doctor_mtu(struct doctor *doctor)
{
	bool reported = false;

	if (doctor->conf_error) {
		doctor_ok(doctor, "", "not known: director.conf cannot be read");
		return;
	}
	for (size_t i = 0; i < doctor->eal.port_count; i++)
		reported |= report_port_mtu(doctor, i);
	for (uint32_t i = 0; i < doctor->table.count; i++)
		reported |= report_overhead(doctor, i);
	if (reported)
		return;
	if (doctor->table_error && !doctor->conf.steering.send_too_big)
		doctor_ok(doctor, "",
			"not known: outbound_mtu is %u, and the table that needs room for outer headers cannot be read",
			doctor->conf.steering.outbound_mtu);
	else
		doctor_ok(doctor, "", "outbound_mtu is %u%s", doctor->conf.steering.outbound_mtu,
			doctor->conf.steering.send_too_big ? ", and clients that send more get a too-big reply" : "");
}

/* Returns whether a finding was added. */
static bool report_merging(struct doctor *doctor, const struct eal_args_port *port)
{
	struct interface_merging merging = interface_merges(port->interface);
	/* AF_XDP gets packets before GRO. */
	bool lro = merging.lro, gro = strncmp(port->name, "net_af_packet", 13) == 0 && merging.gro;
	const char *command;

	if (!lro && !gro)
		return false;
	command = host_command("ethtool -K %s%s%s", port->interface, lro ? " lro off" : "", gro ? " gro off" : "");
	findings_add(&doctor->findings, FINDINGS_WARN, port->interface, command,
		"%s merges packets before the director gets them, and the merged ones are too big to forward (drop_too_big, drop_truncated)",
		lro ? "LRO" : "GRO");
	return true;
}

void doctor_offloads(struct doctor *doctor)
{
	bool reported = false, has_interface = false, missing = false;
	struct interface interface;

	for (size_t i = 0; i < doctor->eal.port_count && !doctor->is_copy; i++) {
		const struct eal_args_port *port = &doctor->eal.ports[i];

		if (!*port->interface)
			continue;
		has_interface = true;
		missing |= !interface_read(&doctor->host, port->interface, &interface);
		reported |= report_merging(doctor, port);
	}
	if (doctor->is_copy)
		doctor_not_needed(doctor, "a copy of a host has no offloads");
	else if (!has_interface)
		doctor_not_needed(doctor, "the director sets the offloads of its cards");
	else if (!reported)
		doctor_ok(doctor, "", missing ? "not known: an interface is missing" : "no interface merges packets");
}

static void check_live_next_hops(struct doctor *doctor)
{
	json_int_t proxies = 0;
	bool reported = false;
	const char *key;
	json_t *set;

	json_object_foreach(json_object_get(doctor->director.next_hops, "sets"), key, set)
	{
		json_int_t without = snapshot_number(set, "without_count"),
			   unreachable = snapshot_number(set, "unreachable");

		proxies += snapshot_number(set, "backend_count");
		reported |= without || unreachable;
		if (without)
			findings_add(&doctor->findings, FINDINGS_FAIL, snapshot_text(set, "port"), NULL,
				"%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
				" proxies have no reachable next hop, so their packets are dropped: glb-director-cli next-hops names them and the reasons",
				without, snapshot_number(set, "backend_count"));
		else if (unreachable)
			findings_add(&doctor->findings, FINDINGS_WARN, snapshot_text(set, "port"), NULL,
				"%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
				" next hops do not reply, so the others carry their packets: glb-director-cli next-hops names them",
				unreachable, snapshot_number(set, "next_hop_count"));
	}
	if (!reported && !json_object_size(json_object_get(doctor->director.next_hops, "sets")))
		doctor_ok(doctor, "", "not known: the director does not tell its next hops");
	else if (!reported && doctor->conf_error == 0 && !doctor->conf.gateway_auto)
		doctor_not_needed(doctor, FIXED_GATEWAY);
	else if (!reported)
		doctor_ok(doctor, "", proxies ? "every proxy has a next hop" : "not needed: no table has a proxy");
}

/* The kernel's main table. Addresses are in network order. */
struct kernel_routes {
	struct route {
		uint32_t network, mask;
		bool refuses;
	} * items;
	size_t count;
};

/* Reads the table once, because it may have a million routes. */
static void read_routes(const struct doctor *doctor, struct kernel_routes *routes)
{
	FILE *file = host_open(host_path(&doctor->host, "/proc/net/route"));
	char line[HOST_LINE_MAX], interface[16];
	struct route route, *items = NULL;

	while (file && fgets(line, sizeof(line), file)) {
		/* Addresses are printed as numbers of the host's order. */
		if (sscanf(line, "%15s %" SCNx32 " %*x %*x %*u %*u %*u %" SCNx32, interface, &route.network,
			    &route.mask) != 3)
			continue;
		if (!(routes->count & (routes->count - 1)))
			items = realloc(routes->items, (routes->count ? 2 * routes->count : 1) * sizeof(*items));
		if (!items)
			break;
		route.refuses = strcmp(interface, "*") == 0;
		routes->items = items;
		routes->items[routes->count++] = route;
	}
	if (file)
		fclose(file);
}

/* Returns whether the longest match is a route to an interface. The first of equal routes has the lowest metric. */
static bool has_route(const struct kernel_routes *routes, uint32_t address)
{
	const struct route *best = NULL;

	for (size_t i = 0; i < routes->count; i++) {
		const struct route *route = &routes->items[i];

		if ((address & route->mask) == route->network && (!best || ntohl(route->mask) > ntohl(best->mask)))
			best = route;
	}
	return best && !best->refuses;
}

/* Returns the first proxy of the table without a route, or NULL. Counts the proxies. */
static const struct table_backend *without_route(
	const struct kernel_routes *routes, const struct table *table, uint64_t *proxies)
{
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];
		uint32_t address;

		memcpy(&address, backend->addr.bytes, sizeof(address));
		if (backend->addr.family != NETADDR_V4 || backend->state == TABLE_INACTIVE)
			continue;
		++*proxies;
		if (!has_route(routes, address))
			return backend;
	}
	return NULL;
}

static void check_routes(struct doctor *doctor)
{
	const struct table_backend *first = NULL;
	struct kernel_routes routes = {0};
	char text[NETADDR_TEXT_MAX], others[64] = "";
	uint32_t tables = 0;
	uint64_t proxies = 0;

	read_routes(doctor, &routes);
	for (uint32_t i = 0; i < doctor->table.count; i++) {
		const struct table_backend *backend = without_route(&routes, &doctor->table.tables[i], &proxies);

		tables += backend != NULL;
		first = first ? first : backend;
	}
	free(routes.items);
	if (!first) {
		doctor_ok(doctor, "",
			proxies ? "the kernel has a route to every proxy" : "not needed: no table has a proxy");
		return;
	}
	if (tables > 1)
		snprintf(others, sizeof(others), ", nor to a proxy of %u other table%s", tables - 1,
			text_plural(tables - 1));
	findings_add(&doctor->findings, FINDINGS_FAIL, netaddr_format(&first->addr, text), NULL,
		"the kernel has no route to this proxy%s, so its packets are dropped: add one (ip route), or see the routing daemon",
		others);
}

void doctor_next_hops(struct doctor *doctor)
{
	if (doctor->running) {
		check_live_next_hops(doctor);
		return;
	}
	if (doctor->conf_error || doctor->table_error || *doctor->conf.outbound_vrf) {
		doctor_ok(doctor, "", "not known: %s",
			doctor->conf_error || doctor->table_error ? "director.conf or the table cannot be read"
								  : "the routes are in a VRF, and no director runs");
		return;
	}
	if (!doctor->conf.gateway_auto) {
		doctor_not_needed(doctor, FIXED_GATEWAY);
		return;
	}
	if (!host_exists(host_path(&doctor->host, "/proc/net/route"))) {
		doctor_ok(doctor, "", "not known: there is no /proc/net/route");
		return;
	}
	check_routes(doctor);
}
