/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/announce.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/text.h"
#include "director/ports/link.h"
#include "program/log.h"
#include "program/service.h"

/* Longer than the control thread ever needs from one evaluation to the next. */
#define START_EXTENSION_US UINT64_C(30000000)
#define STOP_EXTENSION_US  UINT64_C(10000000)

#define STATUS_MAX 700

/* Writes the state, the worst reason, and the table. */
static const char *status(const struct director *director, char buf[STATUS_MAX])
{
	const struct live_table *live = director->shared.live;
	const struct health_report *report = &director->watch.health.report;
	const struct health_reason *worst = report->count ? &report->reasons[0] : NULL;
	char more[32] = "", reason[HEALTH_OBJECT_SIZE + HEALTH_TEXT_SIZE + 8] = "";

	for (unsigned i = 0; i < report->count; i++)
		if (report->reasons[i].severity > worst->severity)
			worst = &report->reasons[i];
	if (worst)
		snprintf(reason, sizeof(reason), ": %s: %s", worst->object, worst->text);
	if (report->found > 1)
		snprintf(more, sizeof(more), " (and %u more)", report->found - 1);
	snprintf(buf, STATUS_MAX, "%s%s%s; %" PRIu32 " table%s, generation %" PRIu64 ", digest %016" PRIx64,
		health_state_name(director->watch.health.state), reason, more, live->routes->set.count,
		text_plural(live->routes->set.count), live->generation, live->routes->digest);
	return buf;
}

/* Logs in one line what the director starts with. */
static void log_ready(const struct director *director)
{
	const struct live_table *live = director->shared.live;
	char ports[640] = "", text[LINK_TEXT_MAX];
	size_t size = 0;

	for (uint16_t i = 0; i < director->ports.count; i++) {
		if (!port_is_used(&director->ports.list[i]) || size >= sizeof(ports))
			continue;
		size += (size_t)snprintf(ports + size, sizeof(ports) - size, "%sport %u (%s) %s", size ? ", " : "",
			director->ports.list[i].id, director->ports.list[i].name,
			link_text(&director->ports.list[i].link, text));
	}
	log_notice("ready: %s; %u worker lcore%s, ISA %s, %" PRIu32 " table%s, digest %016" PRIx64, ports,
		director->workers.count, text_plural(director->workers.count), isa_name(director->isa.isa),
		live->routes->set.count, text_plural(live->routes->set.count), live->routes->digest);
}

/* Sends READY=1 again if it may not have arrived. */
static void tell(struct announced *announced, const char *text)
{
	bool told = announced->told ? service_status(text) : service_ready_status(text);

	if (!told && !announced->unread)
		log_warning(
			"the service manager does not read its socket NOTIFY_SOCKET, so it does not know the state of the director");
	announced->told = told;
	announced->unread = !told;
}

void announce_health(struct announced *announced, struct director *director, bool changed)
{
	char text[STATUS_MAX];

	if (announced->reloading || announced->stopping)
		return; /* announce_reloaded() follows, or nothing */
	if (director->watch.health.state == HEALTH_STARTING) {
		service_starting(START_EXTENSION_US, status(director, text));
		return;
	}
	if (!announced->ready)
		log_ready(director);
	announced->ready = true;
	if (changed || !announced->told)
		tell(announced, status(director, text));
}

void announce_reload(struct announced *announced)
{
	if (!announced->ready || announced->stopping)
		return;
	announced->reloading = true;
	service_reloading();
}

void announce_reloaded(struct announced *announced, struct director *director)
{
	char text[STATUS_MAX];

	if (announced->reloading) {
		announced->told = false;
		tell(announced, status(director, text));
	}
	announced->reloading = false;
}

void announce_stop(struct announced *announced, unsigned delay_ms)
{
	char text[64];

	announced->stopping = true;
	snprintf(text, sizeof(text), "stopping: packets are forwarded for %u more ms", delay_ms);
	service_stopping_status(delay_ms * UINT64_C(1000) + STOP_EXTENSION_US, delay_ms ? text : "stopping");
}
