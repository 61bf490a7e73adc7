/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <sys/socket.h>

#include "director/nexthop/nexthop_state.h"
#include "program/log.h"

#define LOG_PAUSE_MS 1000
#define LOG_LINES    4 /* more changes than these at once are logged in one line */

struct summary {
	uint32_t changes, lost; /* next hops and backends that changed; those of them that changed for the worse */
	uint32_t without; /* backends without a next hop */
};

static bool neighbour_changed(const struct neighbour *neighbour)
{
	return (neighbour->settled || neighbour->down || neighbour->logged) &&
	       (!neighbour->logged || neighbour->logged_mac != neighbour_mac(neighbour));
}

static bool path_changed(const struct path *path)
{
	return path->done && path->logged != (path->why != NULL);
}

static void log_neighbour(const struct nexthop *nexthop, const struct neighbour *neighbour)
{
	const struct destinations *destinations = &nexthop->destinations;
	uint64_t mac = neighbour_mac(neighbour);
	char address[46], interface[IF_NAMESIZE], old_text[18], new_text[18];
	const char *name = if_indextoname(neighbour->key.interface, interface) ? interface : "a removed interface";
	const char *why = neighbour->down                  ? "its link is down"
			  : neighbour_is_static(neighbour) ? "its neighbour entry has no unicast MAC address"
							   : "it does not reply to the kernel";
	uint32_t alone = 0;

	neighbour_address(&neighbour->key, address);
	if (mac) {
		log_notice("next hop %s on %s: MAC %s -> %s", address, name,
			neighbour_mac_text(neighbour->logged_mac, old_text), neighbour_mac_text(mac, new_text));
		return;
	}
	for (size_t i = 0; i < (size_t)destinations->count * destinations->ports; i++)
		for (uint32_t j = 0; j < destinations->paths[i].count; j++)
			alone += destinations->paths[i].links[j].neighbour == neighbour &&
				 !path_is_usable(&destinations->paths[i]);
	if (alone)
		log_warning(
			"next hop %s on %s: %s: packets to %u prox%s are dropped, because their routes have no other next hop",
			address, name, why, alone, alone == 1 ? "y" : "ies");
	else
		log_warning("next hop %s on %s: %s: its packets use the other next hops of their routes", address, name,
			why);
}

static void log_path(const struct nexthop *nexthop, size_t at)
{
	const struct destinations *destinations = &nexthop->destinations;
	const struct path *path = &destinations->paths[at];
	uint32_t port = (uint32_t)(at % destinations->ports);
	const char *interface = nexthop->interfaces[port].name;
	char address[NETADDR_TEXT_MAX];

	netaddr_format(&destinations->addresses[at / destinations->ports], address);
	if (path->why)
		log_warning(
			"proxy %s%s%s: no next hop: %s: packets to it are dropped; add a route, or configure outbound_gateway_mac",
			address, interface[0] ? " from " : "", interface, path->why);
	else
		log_notice("proxy %s%s%s: it has a next hop again", address, interface[0] ? " from " : "", interface);
}

static struct summary summarise(const struct nexthop *nexthop)
{
	const struct destinations *destinations = &nexthop->destinations;
	struct summary summary = {0};

	for (uint32_t i = 0; i < nexthop->neighbours.count; i++) {
		const struct neighbour *neighbour = nexthop->neighbours.items[i];

		summary.changes += neighbour_changed(neighbour);
		summary.lost += neighbour_changed(neighbour) && !neighbour_mac(neighbour);
	}
	for (size_t i = 0; i < (size_t)destinations->count * destinations->ports; i++) {
		const struct path *path = &destinations->paths[i];

		summary.changes += path_changed(path);
		summary.lost += path_changed(path) && path->why;
		summary.without += path->done && !path_is_usable(path);
	}
	return summary;
}

/* Logs each change, if `lines`, and remembers that the log has it. */
static void log_changes(struct nexthop *nexthop, bool lines)
{
	struct destinations *destinations = &nexthop->destinations;

	for (size_t i = 0; i < (size_t)destinations->count * destinations->ports; i++) {
		struct path *path = &destinations->paths[i];

		if (!path_changed(path))
			continue;
		if (lines)
			log_path(nexthop, i);
		path->logged = path->why != NULL;
	}
	for (uint32_t i = 0; i < nexthop->neighbours.count; i++) {
		struct neighbour *neighbour = nexthop->neighbours.items[i];

		if (!neighbour_changed(neighbour))
			continue;
		if (lines)
			log_neighbour(nexthop, neighbour);
		neighbour->logged = true;
		neighbour->logged_mac = neighbour_mac(neighbour);
	}
}

void nexthop_log(struct nexthop *nexthop, uint64_t now_ms)
{
	struct summary summary;

	if (!nexthop->log_due || now_ms < nexthop->logged_ms + LOG_PAUSE_MS)
		return;
	nexthop->log_due = false;
	summary = summarise(nexthop);
	if (!summary.changes)
		return;
	nexthop->logged_ms = now_ms;
	log_changes(nexthop, summary.changes <= LOG_LINES);
	if (summary.changes > LOG_LINES)
		log_line(summary.lost ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE,
			"next hops: %u changed at once, %u for the worse; %u of %u proxies have no next hop (list them: glb-director-cli next-hops)",
			summary.changes, summary.lost, summary.without,
			nexthop->destinations.count * nexthop->destinations.ports);
}

/* The kernel resolves no more neighbours, without any message, when it has this many entries. UINT32_MAX: not known. */
static uint32_t kernel_room(const char *family)
{
	char path[64];
	FILE *file;
	uint32_t room = UINT32_MAX;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/neigh/default/gc_thresh3", family);
	file = fopen(path, "re");
	if (file && fscanf(file, "%u", &room) != 1)
		room = UINT32_MAX;
	if (file)
		fclose(file);
	return room;
}

static void log_room(const struct nexthop *nexthop, uint32_t family, bool *logged)
{
	const char *name = family == AF_INET ? "ipv4" : "ipv6";
	uint32_t count = 0, room = kernel_room(name);

	for (uint32_t i = 0; i < nexthop->neighbours.count; i++)
		count += nexthop->neighbours.items[i]->key.family == family;
	if (count >= room && !*logged)
		log_warning(
			"next hops: the routes lead to %u %s neighbours, but the kernel keeps at most %u entries, so it cannot resolve them all: raise net.%s.neigh.default.gc_thresh3 (sysctl), and gc_thresh1 and gc_thresh2",
			count, name, room, name);
	*logged = count >= room;
}

void nexthop_log_room(struct nexthop *nexthop)
{
	log_room(nexthop, AF_INET, &nexthop->room_logged[0]);
	log_room(nexthop, AF_INET6, &nexthop->room_logged[1]);
}
