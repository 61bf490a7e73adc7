/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/nexthop/nexthop.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "director/nexthop/nexthop_state.h"
#include "program/log.h"

#define STEP_US          100000 /* between two steps */
#define STEP_WORK_US     20000 /* of a step, for lookups, and as much for events */
#define PASS_PAUSE_MS    150 /* at least, between two passes */
#define PASS_SHARE       4 /* a pause is at least this many times as long as the work of the pass before it */
#define NEW_WORK_US      500000 /* of a new table, for lookups; those that are left wait for the next pass */
#define SAFETY_NET_MS    30000 /* everything is read again after this time, although no event says so */
#define PROBES_PER_STEP  50
#define RETRIES_PER_STEP 10
#define SETTLE_MS        3500 /* the kernel gives up after three requests, one a second */

static void read_all_again(struct nexthop *nexthop)
{
	nexthop->dirty = true;
	for (uint32_t i = 0; i < nexthop->neighbours.count; i++)
		nexthop->neighbours.items[i]->reread = true;
}

static void note_change(struct nexthop *nexthop, bool sets)
{
	nexthop->changed |= sets;
	nexthop->log_due = true;
	nexthop->version += sets;
}

/* On an interface without ARP (dummy, tunnel) the kernel gives each neighbour the MAC of the interface, where no
 * neighbour receives. */
static bool is_without_arp(struct nexthop *nexthop, const struct neighbour_entry *entry)
{
	struct net_link link;

	return entry->state & NUD_NOARP && kernel_link(&nexthop->kernel, entry->key.interface, &link) == 0 &&
	       link.flags & IFF_NOARP;
}

/* entry: NULL if the kernel has none. */
static void update_neighbour(struct nexthop *nexthop, struct neighbour *neighbour, const struct neighbour_entry *entry)
{
	uint16_t state = neighbour->state;
	struct neighbour_entry without_mac;
	bool sets;

	if (entry && is_without_arp(nexthop, entry)) {
		without_mac = (struct neighbour_entry){.key = entry->key, .state = entry->state};
		entry = &without_mac;
	}
	sets = neighbour_update(neighbour, entry, clock_now_ms());

	if (sets || state != neighbour->state)
		note_change(nexthop, sets);
	if (sets && neighbour->key.family == AF_INET6)
		nexthop->dirty = true; /* unless it is a router, the kernel prefers IPv6 gateways that reply */
}

static int take_event(const struct nlmsghdr *message, void *context)
{
	struct nexthop *nexthop = context;
	struct neighbour_entry entry;
	struct neighbour *neighbour;

	if (message->nlmsg_type != RTM_NEWNEIGH && message->nlmsg_type != RTM_DELNEIGH) {
		nexthop->dirty = true; /* a route, rule, link, address or nexthop object */
		return MNL_CB_OK;
	}
	if (!rtnetlink_read_neighbour(message, &entry))
		return MNL_CB_OK;
	neighbour = neighbours_get(&nexthop->neighbours, &entry.key, 0);
	if (!neighbour)
		return MNL_CB_OK;
	neighbour->failing = message->nlmsg_type == RTM_NEWNEIGH && entry.state & NUD_FAILED;
	nexthop->failing |= neighbour->failing;
	if (!neighbour->failing)
		update_neighbour(nexthop, neighbour, message->nlmsg_type == RTM_NEWNEIGH ? &entry : NULL);
	return MNL_CB_OK;
}

/* An entry that somebody deletes (ip neigh flush) first becomes a failed one. Such a neighbour keeps its MAC. */
static void take_failures(struct nexthop *nexthop)
{
	if (!nexthop->failing)
		return;
	nexthop->failing = false;
	for (uint32_t i = 0; i < nexthop->neighbours.count; i++) {
		struct neighbour *neighbour = nexthop->neighbours.items[i];

		if (neighbour->failing)
			update_neighbour(nexthop, neighbour, &(struct neighbour_entry){.state = NUD_FAILED});
		neighbour->failing = false;
	}
}

/*
 * Returns whether it has taken all events; it stops when it has worked for long enough. If events were lost, everything
 * is read again once the socket is empty. Until then the kernel loses more events, and hands out those that are older
 * than the lost ones.
 */
static bool take_events(struct nexthop *nexthop)
{
	uint64_t end = clock_now_us() + STEP_WORK_US;
	char buf[32768];

	while (clock_now_us() < end) {
		ssize_t size = recv(mnl_socket_get_fd(nexthop->events), buf, sizeof(buf), MSG_DONTWAIT);

		if (size > 0) {
			mnl_cb_run(buf, (size_t)size, 0, 0, take_event, nexthop);
		} else if (size < 0 && errno == ENOBUFS) { /* there were more events than the socket can hold */
			nexthop->events_lost = true;
		} else {
			if (nexthop->events_lost)
				read_all_again(nexthop);
			nexthop->events_lost = false;
			return true;
		}
	}
	return false;
}

/* Finds the interface again after it was removed or replaced. A renamed one keeps its index. After an error that says
 * nothing about the interface, another pass is due. */
static void refresh_interface(struct nexthop *nexthop, struct named_interface *interface)
{
	struct net_link link;
	int error = interface->index ? kernel_link(&nexthop->kernel, interface->index, &link) : -ENODEV;

	if (!interface->name[0])
		return;
	if (error == -ENODEV) {
		interface->index = if_nametoindex(interface->name);
		error = interface->index ? 0 : -errno;
	}
	nexthop->dirty |= error && error != -ENODEV;
	if (!interface->index && !interface->logged_missing)
		log_warning("interface %s is gone: packets that would leave through it are dropped until it is back",
			interface->name);
	else if (interface->index && interface->logged_missing)
		log_notice("interface %s is back", interface->name);
	interface->logged_missing = !interface->index;
}

static const char *describe_type(uint8_t type)
{
	switch (type) {
	case RTN_UNICAST:
		return NULL;
	case RTN_LOCAL:
		return "the address belongs to this host";
	case RTN_BROADCAST:
	case RTN_MULTICAST:
	case RTN_ANYCAST:
		return "the address is no unicast address";
	case RTN_BLACKHOLE:
		return "the route is a blackhole";
	default:
		return "the route does not lead to a next hop";
	}
}

/* Adds a next hop of the route, or its weight to the link that leads to the same neighbour. */
static uint32_t add_link(struct nexthop *nexthop, struct hop_link *links, uint32_t count,
	const struct route_next_hop *next_hop, const struct netaddr *destination)
{
	struct neighbour_key key = next_hop->key;
	struct neighbour *neighbour;

	if (key.family == AF_UNSPEC) {
		key.family = destination->family == NETADDR_V4 ? AF_INET : AF_INET6;
		memcpy(key.address, destination->bytes, sizeof(key.address));
	}
	neighbour = neighbours_get(&nexthop->neighbours, &key, clock_now_ms());
	if (!neighbour)
		return count;
	if (neighbour_set_down(neighbour, next_hop->down, clock_now_ms()))
		note_change(nexthop, true);
	for (uint32_t i = 0; i < count; i++)
		if (links[i].neighbour == neighbour) {
			links[i].weight += next_hop->weight;
			return count;
		}
	links[count] = (struct hop_link){neighbour, next_hop->weight};
	return count + 1;
}

/* Explains an error of the lookup. The kernel replies to a lookup as it would to a packet that is sent. */
static const char *explain(int error)
{
	switch (error) {
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return "the kernel has no route to it";
	case -EINVAL:
		return "the route is a blackhole";
	case -EACCES:
		return "the route is prohibited";
	default:
		return strerrordesc_np(-error) ? strerrordesc_np(-error) : "the kernel reports an unknown error";
	}
}

static bool uses_interface(const struct route *route, uint32_t interface)
{
	for (uint32_t i = 0; i < route->count; i++)
		if (route->next_hops[i].key.interface == interface)
			return true;
	return false;
}

/*
 * If a lookup has a source, the kernel's IPv6 routes may use another interface, even if a less specific route uses this
 * one. IPv4 routes never do, and neither do IPv6 routes if the lookup has no source.
 */
static int ask_kernel(struct nexthop *nexthop, const struct netaddr *destination, uint32_t interface, struct route *route)
{
	const struct netaddr *source = &nexthop->config.sources[destination->family == NETADDR_V6], any = {0};
	int error =
		kernel_route(&nexthop->kernel, source, destination, interface ? interface : nexthop->vrf.index, route);

	if (error || !interface || destination->family == NETADDR_V4 || route->type != RTN_UNICAST ||
		uses_interface(route, interface))
		return error;
	return kernel_route(&nexthop->kernel, &any, destination, interface, route);
}

/*
 * Looks up the path again. interface: of the port; 0: any. Returns whether it changed. If the request fails for a
 * temporary reason, the path stays as it is, and another pass is due.
 */
static bool look_up(struct nexthop *nexthop, struct path *path, const struct netaddr *destination, uint32_t interface)
{
	struct route route;
	struct hop_link *links = NULL;
	uint32_t count = 0, usable = 0;
	int error = ask_kernel(nexthop, destination, interface, &route);
	const char *why = error ? explain(error) : describe_type(route.type);

	if (!why)
		links = calloc(route.count + 1, sizeof(*links));
	if (kernel_error_is_temporary(error) || (!why && !links)) {
		nexthop->dirty = true;
		return false;
	}
	for (uint32_t i = 0; !why && i < route.count; i++) {
		if (interface && route.next_hops[i].key.interface != interface)
			continue;
		usable++;
		if (!route.next_hops[i].unusable)
			count = add_link(nexthop, links, count, &route.next_hops[i], destination);
	}
	if (!why && !count)
		why = usable ? "its route needs an encapsulation that the director does not make"
			     : "its route does not use the interface of the port";
	path_sort(links, count);
	return path_replace(path, links, count, why);
}

static void look_up_at(struct nexthop *nexthop, size_t at)
{
	struct destinations *destinations = &nexthop->destinations;
	const struct named_interface *interface = &nexthop->interfaces[at % destinations->ports];
	struct path *path = &destinations->paths[at];
	bool changed;

	if (interface->name[0] && !interface->index)
		changed = path_replace(path, NULL, 0, "the interface of the port does not exist");
	else if (nexthop->vrf.name[0] && !nexthop->vrf.index)
		changed = path_replace(path, NULL, 0, "the VRF does not exist");
	else
		changed = look_up(nexthop, path, &destinations->addresses[at / destinations->ports], interface->index);
	if (changed)
		note_change(nexthop, true);
}

/* Forgets the neighbours that no path leads to any more. */
static void sweep(struct nexthop *nexthop)
{
	const struct destinations *destinations = &nexthop->destinations;
	uint32_t count;

	for (size_t i = 0; i < (size_t)destinations->count * destinations->ports; i++)
		for (uint32_t j = 0; j < destinations->paths[i].count; j++)
			destinations->paths[i].links[j].neighbour->used = true;
	count = nexthop->neighbours.count;
	neighbours_sweep(&nexthop->neighbours);
	nexthop->version += count != nexthop->neighbours.count;
}

static void begin_pass(struct nexthop *nexthop)
{
	nexthop->dirty = false;
	refresh_interface(nexthop, &nexthop->vrf);
	for (uint32_t i = 0; i < nexthop->config.port_count; i++)
		refresh_interface(nexthop, &nexthop->interfaces[i]);
	nexthop->passing = true;
	nexthop->next = 0;
	nexthop->pass_work_us = 0;
}

static void end_pass(struct nexthop *nexthop)
{
	uint64_t now = clock_now_ms(), pause = PASS_SHARE * nexthop->pass_work_us / 1000;

	nexthop->passing = false;
	nexthop->pass_not_before_ms = now + (pause > PASS_PAUSE_MS ? pause : PASS_PAUSE_MS);
	nexthop->pass_due_ms = now + SAFETY_NET_MS;
	sweep(nexthop);
	nexthop_log_room(nexthop);
}

/* Does the next lookups of the pass. */
static void go_on(struct nexthop *nexthop, uint64_t end_us)
{
	size_t count = (size_t)nexthop->destinations.count * nexthop->destinations.ports;
	uint64_t began_us = clock_now_us(), now_us = began_us;

	for (; now_us < end_us && nexthop->next < count; now_us = clock_now_us())
		look_up_at(nexthop, nexthop->next++);
	nexthop->pass_work_us += now_us - began_us;
	if (nexthop->next == count)
		end_pass(nexthop);
}

static void look_up_routes(struct nexthop *nexthop, uint64_t end_us)
{
	uint64_t now = clock_now_ms();

	if (now >= nexthop->pass_due_ms && !nexthop->passing)
		read_all_again(nexthop);
	if (!nexthop->passing && nexthop->dirty && now >= nexthop->pass_not_before_ms)
		begin_pass(nexthop);
	if (nexthop->passing)
		go_on(nexthop, end_us);
}

static void read_neighbour(struct nexthop *nexthop, struct neighbour *neighbour)
{
	struct neighbour_entry entry;
	int error = kernel_neighbour(&nexthop->kernel, &neighbour->key, &entry);

	neighbour->reread = kernel_error_is_temporary(error);
	if (!neighbour->reread)
		update_neighbour(nexthop, neighbour, error ? NULL : &entry);
}

/* all: no event waits. Otherwise only new neighbours are read, because an event that is older than the entry could
 * still arrive. */
static void read_neighbours(struct nexthop *nexthop, bool all, uint64_t end_us)
{
	for (uint32_t i = 0; i < nexthop->neighbours.count && clock_now_us() < end_us; i++) {
		struct neighbour *neighbour = nexthop->neighbours.items[i];

		if (neighbour->reread && (all || !neighbour->settled))
			read_neighbour(nexthop, neighbour);
	}
}

/* The entry is read first, because a probe would make a permanent entry temporary. */
static void probe(void *context, struct neighbour *neighbour)
{
	struct nexthop *nexthop = context;

	read_neighbour(nexthop, neighbour);
	if (!neighbour_is_static(neighbour))
		kernel_probe(&nexthop->kernel, &neighbour->key);
}

/* Does what is due, until `end_us`. The caller holds the lock. */
static void work(struct nexthop *nexthop, uint64_t end_us)
{
	bool all = take_events(nexthop);

	take_failures(nexthop);
	look_up_routes(nexthop, end_us);
	read_neighbours(nexthop, all, end_us);
	neighbours_probe(&nexthop->neighbours, clock_now_ms(), PROBES_PER_STEP, RETRIES_PER_STEP, probe, nexthop);
}

bool nexthop_step(struct nexthop *nexthop)
{
	uint64_t count;
	bool changed;

	(void)!read(nexthop->timer, &count, sizeof(count));
	pthread_mutex_lock(&nexthop->lock);
	work(nexthop, clock_now_us() + STEP_WORK_US);
	changed = nexthop->changed;
	nexthop->changed = false;
	if (changed)
		nexthop->config.changed(nexthop->config.context);
	nexthop_log(nexthop, clock_now_ms());
	pthread_mutex_unlock(&nexthop->lock);
	return changed;
}

/* Returns whether each path of these routes is looked up, and each of its neighbours has replied or failed. */
static bool is_settled(const struct nexthop *nexthop)
{
	const struct destinations *destinations = &nexthop->destinations;
	uint64_t now = clock_now_ms();

	for (size_t i = 0; i < (size_t)destinations->count * destinations->ports; i++) {
		const struct path *path = &destinations->paths[i];

		if (!path->done)
			return false;
		for (uint32_t j = 0; j < path->count; j++)
			if (!path->links[j].neighbour->settled && now < path->links[j].neighbour->changed_ms + SETTLE_MS)
				return false;
	}
	return true;
}

static void look_up_new(struct nexthop *nexthop)
{
	const struct destinations *destinations = &nexthop->destinations;
	uint64_t end_us = clock_now_us() + NEW_WORK_US;

	for (size_t i = 0; i < (size_t)destinations->count * destinations->ports && clock_now_us() < end_us; i++)
		if (!destinations->paths[i].done)
			look_up_at(nexthop, i);
}

static void follow(struct nexthop *nexthop, const struct routes *routes, bool keep)
{
	if (!destinations_follow(&nexthop->destinations, routes, keep)) {
		log_error("next hops: out of memory: those of new proxies are not looked up");
		return;
	}
	nexthop->passing = false; /* its position has another meaning now */
	nexthop->dirty = true;
	nexthop->version++;
	nexthop->log_due = true;
	look_up_new(nexthop);
}

void nexthop_prepare(struct nexthop *nexthop, const struct routes *routes)
{
	pthread_mutex_lock(&nexthop->lock);
	follow(nexthop, routes, true);
	pthread_mutex_unlock(&nexthop->lock);
}

bool nexthop_is_settled(struct nexthop *nexthop)
{
	bool settled;

	pthread_mutex_lock(&nexthop->lock);
	settled = is_settled(nexthop);
	pthread_mutex_unlock(&nexthop->lock);
	return settled;
}

void nexthop_follow(struct nexthop *nexthop, const struct routes *routes)
{
	pthread_mutex_lock(&nexthop->lock);
	follow(nexthop, routes, false);
	work(nexthop, clock_now_us() + STEP_WORK_US);
	sweep(nexthop);
	nexthop->changed = true; /* the sets of the new table may be older than the last event */
	pthread_mutex_unlock(&nexthop->lock);
}

struct next_hops *nexthop_build(struct nexthop *nexthop, const struct routes *routes, uint32_t port)
{
	struct next_hops *next_hops;

	pthread_mutex_lock(&nexthop->lock);
	next_hops = destinations_build(&nexthop->destinations, routes, nexthop->config.port_count ? port : 0);
	pthread_mutex_unlock(&nexthop->lock);
	return next_hops;
}

int nexthop_descriptor(const struct nexthop *nexthop)
{
	return nexthop->timer;
}

static bool find_interface(struct named_interface *interface, const char *name, const char *key)
{
	strcpy(interface->name, name);
	interface->index = if_nametoindex(name);
	if (!interface->index)
		log_error("%s: the kernel has no interface \"%s\": create it, or correct its name (ip link)", key, name);
	return interface->index;
}

static bool find_vrf(struct nexthop *nexthop, struct net_link *link)
{
	const char *name = nexthop->config.vrf;

	if (!find_interface(&nexthop->vrf, name, "outbound_vrf"))
		return false;
	if (kernel_link(&nexthop->kernel, nexthop->vrf.index, link) == 0 && strcmp(link->kind, "vrf") == 0)
		return true;
	log_error("outbound_vrf: the interface \"%s\" is not a VRF (ip link show type vrf)", name);
	return false;
}

static bool find_interfaces(struct nexthop *nexthop)
{
	const struct nexthop_config *config = &nexthop->config;
	struct net_link link;

	if (config->vrf[0] && !find_vrf(nexthop, &link))
		return false;
	for (uint32_t i = 0; i < config->port_count; i++) {
		const char *name = config->interfaces[i];

		if (!find_interface(&nexthop->interfaces[i], name, "port_interfaces"))
			return false;
		if (!config->vrf[0])
			continue;
		if (kernel_link(&nexthop->kernel, nexthop->interfaces[i].index, &link) ||
			link.master != nexthop->vrf.index) {
			log_error("port_interfaces: the interface \"%s\" does not belong to the VRF \"%s\" of outbound_vrf",
				name, config->vrf);
			return false;
		}
	}
	return true;
}

static bool open_all(struct nexthop *nexthop)
{
	struct timespec interval = clock_timespec(STEP_US);
	struct itimerspec setting = {.it_interval = interval, .it_value = interval};

	nexthop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	nexthop->events = kernel_open_events();
	if (nexthop->timer >= 0 && nexthop->events && netlink_open(&nexthop->kernel, NETLINK_ROUTE) == 0 &&
		timerfd_settime(nexthop->timer, 0, &setting, NULL) == 0)
		return true;
	log_error("outbound_gateway_mac = \"auto\": cannot open a netlink socket: %s", strerror(errno));
	return false;
}

/*
 * The lock is recursive, because nexthop_step() holds it while config.changed() calls nexthop_build(). So a report
 * never shows next hops that are not in use yet.
 */
static void open_lock(struct nexthop *nexthop)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&nexthop->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

struct nexthop *nexthop_open(const struct nexthop_config *config)
{
	struct nexthop *nexthop = calloc(1, sizeof(*nexthop));

	if (!nexthop) {
		log_error("outbound_gateway_mac = \"auto\": out of memory");
		return NULL;
	}
	nexthop->config = *config;
	nexthop->timer = -1;
	nexthop->destinations.ports = config->port_count ? config->port_count : 1;
	open_lock(nexthop);
	if (open_all(nexthop) && find_interfaces(nexthop))
		return nexthop;
	nexthop_close(nexthop);
	return NULL;
}

void nexthop_close(struct nexthop *nexthop)
{
	if (!nexthop)
		return;
	if (nexthop->timer >= 0)
		close(nexthop->timer);
	if (nexthop->events)
		mnl_socket_close(nexthop->events);
	netlink_close(&nexthop->kernel);
	destinations_free(&nexthop->destinations);
	neighbours_free(&nexthop->neighbours);
	pthread_mutex_destroy(&nexthop->lock);
	free(nexthop);
}
