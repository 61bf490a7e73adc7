/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include <time.h>

#include "common/clock.h"
#include "director/telemetry/telemetry_reply.h"
#include "director/view/view.h"

static struct rte_tel_data *describe_reason(const struct health_reason *reason)
{
	struct rte_tel_data *data = telemetry_reply_part();

	if (!data)
		return NULL;
	rte_tel_data_add_dict_string(data, "severity", health_severity_name(reason->severity));
	rte_tel_data_add_dict_string(data, "cause", health_cause_name(reason->cause));
	telemetry_reply_text(data, "object", reason->object);
	telemetry_reply_text(data, "text", reason->text);
	rte_tel_data_add_dict_uint(data, "since", reason->since);
	return data;
}

static struct rte_tel_data *describe_port(const struct view_port *port)
{
	struct rte_tel_data *data = telemetry_reply_part();

	if (!data)
		return NULL;
	rte_tel_data_add_dict_string(data, "name", port->name);
	rte_tel_data_add_dict_string(data, "state", port->state);
	telemetry_reply_facts(data, view_port_event_facts, port);
	return data;
}

int telemetry_health(struct director *director, const char *parameters __rte_unused, struct rte_tel_data *data)
{
	struct rte_tel_data *reasons = telemetry_reply_part(), *ports = telemetry_reply_part();
	struct capture_state capture = capture_state(director->capture);
	struct view_routes routes;
	uint64_t now = (uint64_t)time(NULL);
	struct health health;

	reload_lock(&director->reload);
	routes = view_routes(&director->reload);
	reload_unlock(&director->reload);
	health_report_now(&director->watch.health, &health, now, clock_now_ms());
	for (unsigned i = 0; i < health.report.count; i++)
		telemetry_reply_numbered(reasons, i, describe_reason(&health.report.reasons[i]));
	for (uint16_t i = 0; i < director->ports.count; i++) {
		struct view_port port = view_port(director, i);

		if (port.used)
			telemetry_reply_numbered(ports, port.id, describe_port(&port));
	}
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "state", health_state_name(health.state));
	telemetry_reply_facts(data, view_health_facts, &health);
	rte_tel_data_add_dict_uint(data, "now", now);
	rte_tel_data_add_dict_string(data, "digest", routes.digest);
	rte_tel_data_add_dict_uint(data, "generation", routes.generation);
	rte_tel_data_add_dict_uint(data, "table_age", routes.age);
	rte_tel_data_add_dict_uint(data, "last_reload", routes.tried);
	telemetry_reply_add(data, "reasons", reasons);
	telemetry_reply_add(data, "ports", ports);
	rte_tel_data_add_dict_uint(data, "capture_pid", (uint64_t)capture.pid);
	rte_tel_data_add_dict_uint(data, "capture_since", capture.since);
	return 0;
}
