/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/port_events.h"

#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "program/log.h"

static const struct {
	enum rte_eth_event_type dpdk;
	const char *counter, *text;
} kinds[] = {
#define X(member, dpdk, counter, text) {RTE_ETH_EVENT_##dpdk, counter, text},
	PORT_EVENTS_LIST(X)
#undef X
};

static int on_event(uint16_t port, enum rte_eth_event_type type, void *argument, void *result)
{
	struct port_events *events = argument;
	uint64_t one = 1;

	(void)port, (void)result;
	for (unsigned i = 0; i < PORT_EVENT_COUNT; i++) {
		if (kinds[i].dpdk != type)
			continue;
		__atomic_fetch_add(&events->counts[i], 1, __ATOMIC_RELAXED);
		__atomic_fetch_or(&events->pending, 1u << i, __ATOMIC_RELEASE);
	}
	if (write(events->wake, &one, sizeof(one)) < 0)
		return 0; /* the eventfd's counter is full, so the control thread wakes up anyway */
	return 0;
}

void port_events_open(struct port_events *events, uint16_t port, int wake)
{
	*events = (struct port_events){.port = port, .wake = wake, .open = true};
	for (unsigned i = 0; i < PORT_EVENT_COUNT; i++) {
		int error = rte_eth_dev_callback_register(port, kinds[i].dpdk, on_event, events);

		if (error)
			log_warning("port %u: DPDK cannot report the event \"%s\": %s", port, kinds[i].text,
				strerror(-error));
	}
}

void port_events_close(struct port_events *events)
{
	for (unsigned i = 0; i < PORT_EVENT_COUNT && events->open; i++)
		rte_eth_dev_callback_unregister(events->port, kinds[i].dpdk, on_event, events);
	events->open = false;
}

uint32_t port_events_take(struct port_events *events)
{
	return __atomic_exchange_n(&events->pending, 0, __ATOMIC_ACQUIRE);
}

const char *port_event_text(enum port_event event)
{
	return kinds[event].text;
}

const char *port_event_counter(enum port_event event)
{
	return kinds[event].counter;
}
