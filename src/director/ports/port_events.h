/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events that drivers report about a port, or the kernel about its device. DPDK calls back in a thread of its own,
 * which only counts the event, notes that it is pending and wakes the control thread. Any thread may read the counts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* member, DPDK's event, counter in replies, what the log says */
#define PORT_EVENTS_LIST(X)                                                                          \
	X(LINK, INTR_LSC, "link_events", "the driver reports a change of the link")                  \
	X(RESET, INTR_RESET, "reset_events", "the driver asks for a reset")                          \
	X(REMOVED, INTR_RMV, "removal_events", "the device was removed")                             \
	X(RECOVERING, ERR_RECOVERING, "recovering_events",                                           \
		"the driver recovers from an error; until then it passes no packets")                \
	X(RECOVERED, RECOVERY_SUCCESS, "recovered_events", "the driver has recovered from an error") \
	X(UNRECOVERED, RECOVERY_FAILED, "recovery_failed_events", "the driver could not recover from an error")

enum port_event {
#define X(member, dpdk, counter, text) PORT_EVENT_##member,
	PORT_EVENTS_LIST(X)
#undef X
		PORT_EVENT_COUNT
};

/* The events of one port. If all members are zero, no callback is registered. */
struct port_events {
	uint16_t port; /* DPDK port id */
	const char *device; /* name of the port's device; borrowed */
	int wake; /* eventfd of the control thread; borrowed */
	bool open;
	uint32_t pending; /* atomic; bits 1 << enum port_event */
	uint64_t counts[PORT_EVENT_COUNT]; /* atomic */
};

/*
 * Registers the callbacks. device: the name of the port's device, which must stay in place. wake: an eventfd to write
 * to. A driver that does not know an event is no error. After port_events_close(), the port can be opened again, and
 * the counts go on.
 */
void port_events_open(struct port_events *events, uint16_t port, const char *device, int wake);
void port_events_close(struct port_events *events);

/* Returns the events since the last call, as bits 1 << enum port_event. */
uint32_t port_events_take(struct port_events *events);

/* What the log says about an event. */
const char *port_event_text(enum port_event event);
