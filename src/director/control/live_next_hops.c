/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/live_next_hops.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"
#include "director/nexthop/nexthop.h"
#include "director/reload/reload_next_hops.h"
#include "program/log.h"

_Static_assert(
	CONF_MAX_PORTS == NEXTHOP_MAX_PORTS && CONF_MAX_PORTS >= PLAN_MAX_PORTS, "each port may have an interface");
_Static_assert(CONF_INTERFACE_SIZE == IF_NAMESIZE, "a name fits both");

/* A reload_make_next_hops. */
static struct next_hops *make(void *context, const struct routes *routes, uint16_t port)
{
	const struct director *director = context;
	uint64_t mac = 0;

	if (director->nexthop)
		return nexthop_build(director->nexthop, routes, port);
	memcpy(&mac, director->conf.gateway_mac, sizeof(director->conf.gateway_mac));
	return next_hops_create_single(mac);
}

/* Called by the resolver when the next hops have changed. */
static void publish(void *context)
{
	struct director *director = context;
	struct reload *reload = &director->reload;

	for (uint16_t port = 0; port < reload->port_count; port++) {
		struct next_hops *next_hops = make(director, reload->shared->live->routes, port);

		if (next_hops)
			reload_next_hops_publish(reload, port, next_hops);
		else
			log_limited(LOG_LEVEL_ERROR, "next hops: out of memory: port %u keeps those that it has",
				director->ports.list[port].id);
	}
}

static bool check_port_count(const struct director *director)
{
	uint16_t interfaces = director->conf.port_interface_count;

	if (!interfaces || interfaces == director->ports.count)
		return true;
	log_error("port_interfaces: it names %u interface%s, but DPDK has %u port%s: name one for each port, in the order of the ports",
		interfaces, text_plural(interfaces), director->ports.count, text_plural(director->ports.count));
	return false;
}

static struct nexthop *open_resolver(struct director *director)
{
	const struct conf *conf = &director->conf;
	struct nexthop_config config = {
		.sources = {conf_outbound_source(conf, NETADDR_V4), conf_outbound_source(conf, NETADDR_V6)},
		.port_count = conf->port_interface_count,
		.changed = publish,
		.context = director,
	};

	memcpy(config.vrf, conf->outbound_vrf, sizeof(config.vrf));
	memcpy(config.interfaces, conf->port_interfaces, sizeof(config.interfaces));
	return check_port_count(director) ? nexthop_open(&config) : NULL;
}

int live_next_hops_open(struct director *director)
{
	struct reload *reload = &director->reload;

	reload->next_hops = make;
	reload->next_hops_context = director;
	reload->port_count = director->ports.count;
	if (director->conf.gateway_auto) {
		director->nexthop = open_resolver(director);
		if (!director->nexthop)
			return -EINVAL;
		nexthop_follow(director->nexthop, reload->shared->live->routes);
	}
	return reload_next_hops_build(reload, reload->shared->live);
}

bool live_next_hops_settle(struct director *director)
{
	if (!director->nexthop)
		return true;
	nexthop_step(director->nexthop);
	return nexthop_is_settled(director->nexthop);
}
