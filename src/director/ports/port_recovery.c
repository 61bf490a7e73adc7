/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/port_recovery.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "director/admission/port_macs.h"
#include "program/log.h"

#define RETRY_MS 5000

int port_recovery_open(struct director *director)
{
	pthread_mutex_init(&director->ports_lock, NULL);
	director->port_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (director->port_wake < 0)
		return -errno;
	for (uint16_t i = 0; i < director->port_count; i++)
		if (port_is_used(&director->ports[i]))
			port_events_open(&director->port_events[i], director->ports[i].id, director->port_wake);
	return 0;
}

void port_recovery_close(struct director *director)
{
	for (uint16_t i = 0; i < director->port_count; i++)
		port_events_close(&director->port_events[i]);
	if (director->port_wake >= 0)
		close(director->port_wake);
}

int port_recovery_descriptor(const struct director *director)
{
	return director->port_wake;
}

/*
 * Telemetry reads the device while it holds the lock and the state is PORT_RUNNING, so nobody reads it after this
 * call.
 */
static void set_state(struct director *director, struct port *port, enum port_state state)
{
	pthread_mutex_lock(&director->ports_lock);
	__atomic_store_n(&port->state, state, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&director->ports_lock);
}

static bool has(uint32_t events, enum port_event event)
{
	return events >> event & 1;
}

/*
 * Returns the state after these events, which may have come in any order since the last look. A removed device does not
 * come back.
 */
static enum port_state next_state(enum port_state state, uint32_t events)
{
	if (state == PORT_REMOVED || state == PORT_REMOVING)
		return state;
	if (has(events, PORT_EVENT_REMOVED))
		return PORT_REMOVING;
	if (has(events, PORT_EVENT_RESET) || has(events, PORT_EVENT_UNRECOVERED))
		return PORT_RESETTING;
	if (state == PORT_RESETTING)
		return state;
	if (has(events, PORT_EVENT_RECOVERED))
		return PORT_RUNNING;
	return has(events, PORT_EVENT_RECOVERING) ? PORT_RECOVERING : state;
}

/* Returns whether the port is to be closed, or to be reset now. */
static bool is_due(const struct port *port)
{
	return port->state == PORT_REMOVING || (port->state == PORT_RESETTING && clock_now_ms() >= port->retry_ms);
}

enum port_recovery port_recovery_take(struct director *director)
{
	enum port_recovery found = PORT_RECOVERY_NOTHING;
	uint64_t count;

	if (read(director->port_wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		log_limited(LOG_LEVEL_ERROR, "events of ports: cannot be read: %s", strerror(errno));
	for (uint16_t i = 0; i < director->port_count; i++) {
		struct port *port = &director->ports[i];
		uint32_t events = port_events_take(&director->port_events[i]);
		enum port_state state = next_state(port->state, events);

		for (unsigned event = 0; event < PORT_EVENT_COUNT; event++)
			if (has(events, event))
				log_line(event == PORT_EVENT_LINK ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING,
					"port %u (%s): %s", port->id, port->name, port_event_text(event));
		if (state != port->state)
			set_state(director, port, state);
		if (events && found == PORT_RECOVERY_NOTHING)
			found = PORT_RECOVERY_EVENTS;
		if (is_due(port))
			found = PORT_RECOVERY_WORK;
	}
	return found;
}

static int set_up_again(struct director *director, struct port *port)
{
	int error = rte_eth_dev_reset(port->id);

	if (error) {
		log_error("port %u (%s): cannot be reset: %s", port->id, port->name, strerror(-error));
		return error;
	}
	error = port_setup(port, &director->conf, 0, 0);
	if (!error)
		error = port_start(port, &director->conf);
	if (!error)
		port_macs_filter(port, &director->conf.steering.admission);
	return error;
}

static void reset(struct director *director, struct port *port)
{
	int error = set_up_again(director, port);

	if (error) {
		__atomic_fetch_add(&port->reset_failures, 1, __ATOMIC_RELAXED);
		port->retry_ms = clock_now_ms() + RETRY_MS;
		log_error("port %u (%s): the reset failed; next attempt in %d seconds", port->id, port->name,
			RETRY_MS / 1000);
		return;
	}
	port->retry_ms = 0;
	worker_shared_park(&director->shared, port->id, false);
	set_state(director, port, PORT_RUNNING);
	__atomic_fetch_add(&port->resets, 1, __ATOMIC_RELAXED);
	log_notice("port %u (%s): it was reset and set up again", port->id, port->name);
}

void *port_recovery_run(void *argument)
{
	struct director *director = argument;

	for (uint16_t i = 0; i < director->port_count; i++) {
		struct port *port = &director->ports[i];

		if (!is_due(port))
			continue;
		if (!worker_shared_is_parked(&director->shared, port->id))
			worker_shared_park(&director->shared, port->id, true);
		if (port->state == PORT_RESETTING) {
			reset(director, port);
			continue;
		}
		port_events_close(&director->port_events[i]);
		port_close(port);
		set_state(director, port, PORT_REMOVED);
		log_error("port %u (%s): the director goes on without it; to use it again, restart the director",
			port->id, port->name);
	}
	return NULL;
}
