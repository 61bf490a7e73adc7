/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/port_recovery.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "director/ports/exception.h"
#include "director/ports/port_device.h"
#include "director/ports/port_interrupts.h"
#include "director/ports/port_macs.h"
#include "director/ports/port_watch.h"
#include "director/ports/ports.h"
#include "program/log.h"
#include "worker/worker_shared.h"

/*
 * After a reset or an attempt to attach a device that failed, doubled each time; from the removal of a device to the
 * first attempt; and between resets that succeed once there were too many.
 */
#define RETRY_MS     5000
#define RETRY_MAX_MS 60000u
#define QUICK_RESETS 3
#define QUICK_MS     60000

/*
 * The driver of VFs of the 82576 and I350. A reset of the PF stops the queues of a VF. The driver reports it only if
 * the PF's message came by an interrupt, which the card that qemu emulates does not raise.
 */
#define IGB_VF "net_e1000_igb_vf"
/* The card has a link before the driver of the PF is ready to reply to a VF. Meanwhile the port passes packets if it
 * can. */
#define LINK_SETTLE_MS 3000
/*
 * A reset may take the link of the VF down for a moment, too. If the link is back this soon after a reset, the time
 * doubles, up to RETRY_MAX_MS, so that resets do not cause each other. They do not end, because the PF may have been
 * reset once more.
 */
#define LINK_SOON_MS 10000

int port_recovery_open(struct ports *ports)
{
	int error;

	pthread_mutex_init(&ports->lock, NULL);
	ports->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ports->wake >= 0)
		return 0;
	error = errno;
	log_error("ports: no file descriptor for their events: %s", strerror(error));
	return -error;
}

/* Waits for the thread at the end of the director. It finishes the port on which it works. */
static void join(struct ports *ports)
{
	struct port_recovery *recovery = &ports->recovery;
	struct port_watch watch;

	if (!recovery->runs)
		return;
	port_watch_begin(&watch, PORT_WATCH_STOP, __atomic_load_n(&recovery->port, __ATOMIC_ACQUIRE), -1);
	pthread_join(recovery->thread, NULL);
	port_watch_end(&watch);
	recovery->runs = false;
}

void port_recovery_close(struct ports *ports)
{
	join(ports);
	for (uint16_t i = 0; i < ports->count; i++)
		port_events_close(&ports->events[i]);
	if (ports->wake >= 0)
		close(ports->wake);
	ports->wake = -1;
}

int port_recovery_descriptor(const struct ports *ports)
{
	return ports->wake;
}

/*
 * Telemetry reads the device while it holds the lock and the state is PORT_RUNNING, so nobody reads it after this
 * call.
 */
static void set_state(struct ports *ports, struct port *port, enum port_state state)
{
	pthread_mutex_lock(&ports->lock);
	__atomic_store_n(&port->state, state, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&ports->lock);
}

static bool has(uint32_t events, enum port_event event)
{
	return events >> event & 1;
}

/* Returns the state after these events, which may have come in any order since the last look. */
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

void port_recovery_link_is_back(struct ports *ports, uint16_t index)
{
	struct port *port = &ports->list[index];
	uint64_t now = clock_now_ms();
	bool soon = port->settle_ms && now - port->reset_ms < LINK_SOON_MS;

	if (strcmp(port->info.driver_name, IGB_VF) != 0)
		return;
	port->settle_ms = soon ? RTE_MIN(2 * port->settle_ms, RETRY_MAX_MS) : LINK_SETTLE_MS;
	log_notice(
		"port %u (%s): the PF may have been reset while the link was down, and the driver %s may not tell: the port will be set up again in %u seconds",
		port->id, port->name, port->info.driver_name, port->settle_ms / 1000);
	port->reset_due_ms = now + port->settle_ms;
}

/* Returns whether a port that runs is to be reset without an event. */
static bool is_reset_due(const struct port *port, enum port_state state)
{
	return state == PORT_RUNNING && port->reset_due_ms && clock_now_ms() >= port->reset_due_ms;
}

/* Returns whether workers must stop using the port now. */
static bool must_park(const struct ports *ports, const struct port *port)
{
	return (port->state == PORT_REMOVING || port->state == PORT_RESETTING) &&
	       !worker_shared_is_parked(ports->shared, port->id);
}

/* Returns whether the port is to be closed, reset or attached now. */
static bool is_due(const struct port *port)
{
	switch (port->state) {
	case PORT_REMOVING:
		return true;
	case PORT_RESETTING:
		return clock_now_ms() >= port->retry_ms;
	case PORT_REMOVED:
		return clock_now_ms() >= port->retry_ms && port_device_is_back(port);
	default:
		return false;
	}
}

/* Events that change nothing may be many, so they are for --debug. */
static void log_events(const struct port *port, uint32_t events, bool change)
{
	for (unsigned event = 0; event < PORT_EVENT_COUNT; event++)
		if (has(events, event))
			log_line(event == PORT_EVENT_LINK || !change ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING,
				"port %u (%s): %s", port->id, port->name, port_event_text(event));
}

static void take_events(struct ports *ports, uint16_t index)
{
	struct port *port = &ports->list[index];
	uint32_t events = port_events_take(&ports->events[index]);
	enum port_state state = next_state(port->state, events);

	if (is_reset_due(port, state))
		state = PORT_RESETTING;
	log_events(port, events, state != port->state);
	if (state != port->state)
		set_state(ports, port, state);
}

/* Sets up a port that its driver has just reset or made, as it was before. */
static int set_up_again(struct ports *ports, struct port *port)
{
	int error;

	/* A card that did not answer the last time may have seemed to have none. */
	port->rx_interrupts = port_interrupts_wanted(port, ports->conf);
	error = port_setup(port, ports->conf, 0, 0);
	if (!error)
		error = port_start(port, ports->conf);
	if (!error)
		port_macs_filter(port, &ports->conf->steering.admission);
	if (!error)
		exception_restore(ports, port);
	return error;
}

static void use_again(struct ports *ports, struct port *port)
{
	worker_shared_park(ports->shared, port->id, false);
	set_state(ports, port, PORT_RUNNING);
}

/* A driver may ask for resets without end. Then the director must not do anything else, nor fill the log. */
static uint64_t next_reset_ms(struct port *port)
{
	uint64_t now = clock_now_ms();

	port->quick_resets = now - port->reset_ms < QUICK_MS ? port->quick_resets + 1 : 1;
	port->quick_resets = RTE_MIN(port->quick_resets, QUICK_RESETS);
	port->reset_ms = now;
	return port->quick_resets < QUICK_RESETS ? 0 : now + RETRY_MS;
}

/* Some drivers have no reset, although they ask for it: they reset the card when the port starts. */
static int reset_device(const struct port *port)
{
	int error = rte_eth_dev_reset(port->id);

	return error == -ENOTSUP ? rte_eth_dev_stop(port->id) : error;
}

/* The attempts become rare, so that a card that is broken for hours does not fill the log. Returns the seconds until
 * the next one. */
static unsigned retry_later(struct port *port)
{
	port->wait_ms = port->wait_ms ? RTE_MIN(2 * port->wait_ms, RETRY_MAX_MS) : RETRY_MS;
	port->retry_ms = clock_now_ms() + port->wait_ms;
	return port->wait_ms / 1000;
}

static void reset(struct ports *ports, struct port *port)
{
	int error = reset_device(port);

	port->reset_due_ms = 0;
	if (error)
		log_error("port %u (%s): cannot be reset: %s", port->id, port->name, strerror(-error));
	else
		error = set_up_again(ports, port);
	__atomic_store_n(&port->reset_failed, error != 0, __ATOMIC_RELAXED);
	if (error) {
		__atomic_fetch_add(&port->reset_failures, 1, __ATOMIC_RELAXED);
		log_error("port %u (%s): the reset failed; next attempt in %u seconds", port->id, port->name,
			retry_later(port));
		return;
	}
	port->wait_ms = 0;
	port->retry_ms = next_reset_ms(port);
	use_again(ports, port);
	__atomic_fetch_add(&port->resets, 1, __ATOMIC_RELAXED);
	log_notice("port %u (%s): it was reset and set up again", port->id, port->name);
}

static void release(struct ports *ports, struct port *port, struct port_events *events)
{
	port_events_close(events);
	port_device_release(ports, port);
	port->reset_due_ms = 0;
	port->wait_ms = 0;
	port->retry_ms = clock_now_ms() + RETRY_MS;
	set_state(ports, port, PORT_REMOVED);
	log_error("port %u (%s): the director has released the device and goes on without it, until the device is back",
		port->id, port->name);
}

static void attach(struct ports *ports, struct port *port, struct port_events *events)
{
	int error = port_device_attach(port);

	if (!error) {
		port_events_open(events, port->id, port->device_name, ports->wake);
		error = set_up_again(ports, port);
		if (error) {
			port_events_close(events);
			port_device_release(ports, port);
		}
	}
	if (error) {
		log_error("port %u (%s): the device is back, but cannot be used; next attempt in %u seconds", port->id,
			port->name, retry_later(port));
		return;
	}
	port->wait_ms = 0;
	port->retry_ms = 0;
	__atomic_store_n(&port->reset_failed, false, __ATOMIC_RELAXED);
	use_again(ports, port);
	__atomic_fetch_add(&port->attaches, 1, __ATOMIC_RELAXED);
	log_notice("port %u (%s): the device is back and in use again", port->id, port->name);
}

/* Does what is due for a port. */
static void recover(struct ports *ports, struct port *port, struct port_events *events)
{
	if (must_park(ports, port))
		worker_shared_park(ports->shared, port->id, true);
	if (!is_due(port))
		return;
	if (port->state == PORT_RESETTING)
		reset(ports, port);
	else if (port->state == PORT_REMOVING)
		release(ports, port, events);
	else
		attach(ports, port, events);
}

static void *port_recovery_run(void *argument)
{
	struct ports *ports = argument;
	struct port_recovery *recovery = &ports->recovery;
	struct port_watch watch;

	for (uint16_t i = 0; i < ports->count && !worker_shared_stopping(ports->shared); i++) {
		struct port *port = &ports->list[i];

		if (!must_park(ports, port) && !is_due(port))
			continue;
		__atomic_store_n(&recovery->port, port, __ATOMIC_RELEASE);
		port_watch_begin(&watch, PORT_WATCH_RECOVERY, port, PORT_WATCH_LOG_MS);
		recover(ports, port, &ports->events[i]);
		port_watch_end(&watch);
	}
	__atomic_store_n(&recovery->done, true, __ATOMIC_RELEASE);
	eventfd_write(ports->wake, 1);
	return NULL;
}

static void start(struct ports *ports)
{
	struct port_recovery *recovery = &ports->recovery;
	int error;

	recovery->done = false;
	recovery->port = NULL;
	error = pthread_create(&recovery->thread, NULL, port_recovery_run, ports);
	recovery->runs = !error;
	if (error)
		log_limited(LOG_LEVEL_ERROR, "ports: no thread can reset or close them: %s", strerror(error));
}

enum port_recovery_found port_recovery_step(struct ports *ports)
{
	struct port_recovery *recovery = &ports->recovery;
	enum port_recovery_found found = PORT_RECOVERY_NOTHING;
	bool due = false;
	uint64_t count;

	if (read(ports->wake, &count, sizeof(count)) == sizeof(count))
		found = PORT_RECOVERY_EVENTS;
	if (recovery->runs) {
		if (!__atomic_load_n(&recovery->done, __ATOMIC_ACQUIRE))
			return found;
		pthread_join(recovery->thread, NULL);
		recovery->runs = false;
		found = PORT_RECOVERY_DONE;
	}
	for (uint16_t i = 0; i < ports->count; i++) {
		take_events(ports, i);
		due = due || must_park(ports, &ports->list[i]) || is_due(&ports->list[i]);
	}
	if (due)
		start(ports);
	return found;
}
