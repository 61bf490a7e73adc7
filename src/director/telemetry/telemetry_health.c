/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "common/clock.h"
#include "director/capture/capture.h"
#include "director/telemetry/telemetry_reply.h"

static struct rte_tel_data *describe_reason(const struct health_reason *reason)
{
	struct rte_tel_data *data = rte_tel_data_alloc();

	if (!data)
		return NULL;
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "severity", health_severity_name(reason->severity));
	rte_tel_data_add_dict_string(data, "cause", health_cause_name(reason->cause));
	telemetry_reply_text(data, "object", reason->object);
	telemetry_reply_text(data, "text", reason->text);
	rte_tel_data_add_dict_uint(data, "since", reason->since);
	return data;
}

static void add_table(struct rte_tel_data *data, struct reload *reload, uint64_t now)
{
	char digest[24];

	pthread_mutex_lock(&reload->lock);
	snprintf(digest, sizeof(digest), "%016" PRIx64, reload->shared->live->routes->digest);
	rte_tel_data_add_dict_string(data, "digest", digest);
	rte_tel_data_add_dict_uint(data, "generation", reload->shared->live->generation);
	rte_tel_data_add_dict_uint(data, "table_age", now > reload->loaded ? now - reload->loaded : 0);
	rte_tel_data_add_dict_uint(data, "last_reload", reload->tried);
	pthread_mutex_unlock(&reload->lock);
}

static struct rte_tel_data *describe_port(const struct port *port, const struct port_events *events)
{
	static const char *const states[] = {
		[PORT_RUNNING] = "running",
		[PORT_RECOVERING] = "recovering",
		[PORT_RESETTING] = "resetting",
		[PORT_REMOVING] = "removed",
		[PORT_REMOVED] = "removed",
	};
	struct rte_tel_data *data = rte_tel_data_alloc();

	if (!data)
		return NULL;
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "name", port->name);
	rte_tel_data_add_dict_string(data, "state", states[__atomic_load_n(&port->state, __ATOMIC_RELAXED)]);
	for (unsigned i = 0; i < PORT_EVENT_COUNT; i++)
		rte_tel_data_add_dict_uint(
			data, port_event_counter(i), __atomic_load_n(&events->counts[i], __ATOMIC_RELAXED));
	rte_tel_data_add_dict_uint(data, "resets", __atomic_load_n(&port->resets, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_uint(data, "reset_failures", __atomic_load_n(&port->reset_failures, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_uint(data, "attaches", __atomic_load_n(&port->attaches, __ATOMIC_RELAXED));
	return data;
}

int telemetry_health(struct director *director, const char *parameters __rte_unused, struct rte_tel_data *data)
{
	struct rte_tel_data *reasons = rte_tel_data_alloc(), *ports = rte_tel_data_alloc();
	struct capture_state capture = capture_state(director->capture);
	uint64_t now = (uint64_t)time(NULL);
	struct health health;

	if (!reasons || !ports) {
		rte_tel_data_free(reasons);
		rte_tel_data_free(ports);
		return -ENOMEM;
	}
	health_report_now(&director->health, &health, now, clock_now_ms());
	rte_tel_data_start_dict(reasons);
	for (unsigned i = 0; i < health.report.count; i++)
		telemetry_reply_numbered(reasons, i, describe_reason(&health.report.reasons[i]));
	rte_tel_data_start_dict(ports);
	for (uint16_t i = 0; i < director->port_count; i++)
		if (port_is_used(&director->ports[i]))
			telemetry_reply_numbered(ports, director->ports[i].id,
				describe_port(&director->ports[i], &director->port_events[i]));
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "state", health_state_name(health.state));
	rte_tel_data_add_dict_uint(data, "since", health.since);
	rte_tel_data_add_dict_uint(data, "now", now);
	add_table(data, &director->reload, now);
	rte_tel_data_add_dict_container(data, "reasons", reasons, 0);
	rte_tel_data_add_dict_container(data, "ports", ports, 0);
	rte_tel_data_add_dict_uint(data, "omitted", health.report.omitted);
	rte_tel_data_add_dict_uint(data, "capture_pid", (uint64_t)capture.pid);
	rte_tel_data_add_dict_uint(data, "capture_since", capture.since);
	return 0;
}
