/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's requests to release a device: */
#define ALLOW_EXPERIMENTAL_API
#include "director/ports/port_events.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "program/log.h"

static const struct {
	enum rte_eth_event_type dpdk;
	const char *text;
} kinds[] = {
#define X(member, dpdk, counter, text) {RTE_ETH_EVENT_##dpdk, text},
	PORT_EVENTS_LIST(X)
#undef X
};

static void note(struct port_events *events, enum rte_eth_event_type type)
{
	uint64_t one = 1;

	for (unsigned i = 0; i < PORT_EVENT_COUNT; i++) {
		if (kinds[i].dpdk != type)
			continue;
		__atomic_fetch_add(&events->counts[i], 1, __ATOMIC_RELAXED);
		__atomic_fetch_or(&events->pending, 1u << i, __ATOMIC_RELEASE);
	}
	if (write(events->wake, &one, sizeof(one)) < 0)
		return; /* the eventfd's counter is full, so the control thread wakes up anyway */
}

static int on_event(uint16_t port, enum rte_eth_event_type type, void *argument, void *result)
{
	(void)port, (void)result;
	note(argument, type);
	return 0;
}

/* With vfio-pci, drivers do not notice that the device is unplugged. The kernel asks for it every few seconds. */
static void on_device(const char *, enum rte_dev_event_type type, void *events)
{
	if (type == RTE_DEV_EVENT_REMOVE)
		note(events, RTE_ETH_EVENT_INTR_RMV);
}

void port_events_open(struct port_events *events, uint16_t port, const char *device, int wake)
{
	int error;

	events->port = port;
	events->device = device;
	events->wake = wake;
	events->open = true;
	error = rte_dev_event_callback_register(device, on_device, events);
	if (error && error != -EEXIST)
		log_warning("port %u: DPDK cannot report that the kernel removes the device: %s", port, strerror(-error));
	for (unsigned i = 0; i < PORT_EVENT_COUNT; i++) {
		error = rte_eth_dev_callback_register(port, kinds[i].dpdk, on_event, events);
		if (error)
			log_warning("port %u: DPDK cannot report the event \"%s\": %s", port, kinds[i].text,
				strerror(-error));
	}
}

void port_events_close(struct port_events *events)
{
	if (!events->open)
		return;
	rte_dev_event_callback_unregister(events->device, on_device, events);
	for (unsigned i = 0; i < PORT_EVENT_COUNT; i++)
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
