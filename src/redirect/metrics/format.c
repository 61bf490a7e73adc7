/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the metrics. Each function writes some families. */
#include <stdio.h>
#include <stdlib.h>

#include "redirect/host/tcp_counters.h"
#include "redirect/loader.h"
#include "redirect/metrics/metrics.h"

#define PORT_TEXT_MAX 8

static const char *const counter_names[] = {
#define X(symbol, name, help) [REDIRECT_##symbol] = name,
	REDIRECT_COUNTER_LIST(X)
#undef X
};

/* Writes a sample for the interface of each program for which `value` is not negative. */
static void by_interface(struct openmetrics *to, const struct metrics *metrics, const char *name, const char *help,
	int (*value)(const struct attached *program))
{
	openmetrics_family(to, name, OPENMETRICS_GAUGE, help);
	for (size_t i = 0; i < metrics->program_count; i++) {
		const struct attached *program = &metrics->programs[i];

		if (value(program) >= 0)
			openmetrics_number(
				to, OPENMETRICS_LABELS({"interface", program->interface}), (uint64_t)value(program));
	}
}

static int is_here(const struct attached *program)
{
	return program->location_error ? -1 : attached_here(program);
}

static int has_companion(const struct attached *program)
{
	return !attached_here(program) || program->companion_error ? -1 : program->companion != COMPANION_MISSING;
}

static int is_open(const struct attached *program)
{
	return program->open;
}

static int has_counters(const struct attached *program)
{
	return program->counter_count != 0;
}

static void write_info(struct openmetrics *to, const struct metrics *metrics)
{
	openmetrics_family(to, "program", OPENMETRICS_INFO, "version and mode of the program on the interface");
	for (size_t i = 0; i < metrics->program_count; i++) {
		const struct attached *program = &metrics->programs[i];

		if (attached_here(program))
			openmetrics_info(to, OPENMETRICS_LABELS({"interface", program->interface},
						     {"version", program->settings.version},
						     {"mode", loader_mode_name(program->location.mode)},
						     {"tc_program", companion_name(program->companion)}));
	}
}

static void write_senders(struct openmetrics *to, const struct senders *senders)
{
	char prefix[NETPREFIX_TEXT_MAX];

	openmetrics_family(to, "allow_from", OPENMETRICS_INFO, "the prefixes that may send GUE packets");
	for (size_t i = 0; i < senders->count; i++)
		for (size_t j = 0; j < senders->programs[i].count; j++)
			openmetrics_info(
				to, OPENMETRICS_LABELS({"interface", senders->programs[i].interface},
					    {"prefix", netprefix_format(&senders->programs[i].prefixes[j], prefix)}));
	openmetrics_family(to, "allow_from_omitted", OPENMETRICS_GAUGE, "further prefixes of allow_from");
	for (size_t i = 0; i < senders->count; i++)
		openmetrics_number(to, OPENMETRICS_LABELS({"interface", senders->programs[i].interface}),
			senders->programs[i].omitted);
}

static void write_counters(struct openmetrics *to, const struct metrics *metrics)
{
	openmetrics_family(to, "packets", OPENMETRICS_COUNTER, "GUE packets, by what the program did with them");
	for (size_t i = 0; i < metrics->program_count; i++)
		for (uint32_t counter = REDIRECT_TOTAL + 1; counter < metrics->programs[i].counter_count; counter++)
			openmetrics_number(to,
				OPENMETRICS_LABELS({"interface", metrics->programs[i].interface},
					{"result", counter_names[counter]}),
				metrics->programs[i].counters[counter]);
}

static void write_hops(struct openmetrics *to, const struct metrics *metrics)
{
	char hop[PORT_TEXT_MAX];

	openmetrics_family(to, "accepted_packets", OPENMETRICS_COUNTER,
		"packets that this host kept, by the hop at which they arrived here");
	for (size_t i = 0; i < metrics->program_count; i++)
		for (int index = 0; index < REDIRECT_HOPS && metrics->programs[i].has_hops; index++) {
			snprintf(hop, sizeof(hop), "%d", index + 1);
			openmetrics_number(to,
				OPENMETRICS_LABELS({"interface", metrics->programs[i].interface}, {"hop", hop}),
				metrics->programs[i].hops[index]);
		}
}

static void write_losses(struct openmetrics *to, const struct metrics *metrics)
{
	static const char *const names[LOSSES_COUNT] = {[LOSSES_KERNEL] = "kernel", [LOSSES_DRIVER] = "driver"};

	openmetrics_family(to, "lost_packets", OPENMETRICS_COUNTER,
		"packets that the program handed over for sending, and that the kernel or the driver refused");
	for (size_t i = 0; i < metrics->program_count; i++)
		for (int by = 0; by < LOSSES_COUNT && metrics->programs[i].has_losses; by++)
			openmetrics_number(to,
				OPENMETRICS_LABELS({"interface", metrics->programs[i].interface}, {"by", names[by]}),
				metrics->programs[i].losses[by]);
}

static void write_programs(struct openmetrics *to, const struct metrics *metrics)
{
	openmetrics_gauge(
		to, "programs_readable", "0 if the pins of the programs cannot be read", metrics->programs_error == 0);
	openmetrics_gauge(to, "interfaces", "interfaces with a pinned program", metrics->program_count);
	openmetrics_gauge(to, "addresses_followed",
		"1 if glb-redirect follow tells the programs about new addresses of this host", pins_has_follower());
	by_interface(to, metrics, "attached", "1 if the program runs on the interface of this name", is_here);
	by_interface(to, metrics, "tc_program_attached",
		"0 if the tc program is missing, so that damaged packets can reach applications", has_companion);
	by_interface(to, metrics, "open_to_any_sender", "1 if allow_from allows every address", is_open);
	write_senders(to, &metrics->senders);
	by_interface(to, metrics, "counters_readable",
		"0 if the program is of a version with other counters, which are then missing", has_counters);
	write_info(to, metrics);
	write_counters(to, metrics);
	write_hops(to, metrics);
	write_losses(to, metrics);
}

static void write_connections(struct openmetrics *to, const struct sockets *sockets)
{
	char vip[NETPREFIX_TEXT_MAX], port[PORT_TEXT_MAX];
	size_t service = 0;

	openmetrics_family(
		to, "established_connections", OPENMETRICS_GAUGE, "established TCP connections of a VIP and port");
	for (size_t i = 0; i < sockets->vips.count; i++) {
		netprefix_format(&sockets->vips.items[i], vip);
		for (; service < sockets->service_count && sockets->services[service].vip == i; service++) {
			snprintf(port, sizeof(port), "%u", sockets->services[service].port);
			openmetrics_number(to, OPENMETRICS_LABELS({"vip", vip}, {"port", port}),
				sockets->services[service].connections);
		}
		openmetrics_number(to, OPENMETRICS_LABELS({"vip", vip}, {"port", "other"}), sockets->other[i]);
	}
}

static void write_open(struct openmetrics *to, const struct sockets *sockets)
{
	char vip[NETPREFIX_TEXT_MAX];

	openmetrics_family(to, "open_connections", OPENMETRICS_GAUGE,
		"connections of a VIP that glb-redirect drained counts: open, half-open or closing");
	for (size_t i = 0; i < sockets->vips.count; i++) {
		netprefix_format(&sockets->vips.items[i], vip);
		openmetrics_number(to, OPENMETRICS_LABELS({"vip", vip}, {"protocol", "tcp"}), sockets->open_tcp[i]);
		openmetrics_number(to, OPENMETRICS_LABELS({"vip", vip}, {"protocol", "udp"}), sockets->open_udp[i]);
	}
}

static double sockets_of(const struct sockets_listener *listener)
{
	return listener->sockets;
}

static double full_of(const struct sockets_listener *listener)
{
	return listener->full;
}

static double waiting_of(const struct sockets_listener *listener)
{
	return (double)listener->waiting;
}

static double backlog_of(const struct sockets_listener *listener)
{
	return (double)listener->backlog;
}

static double used_of(const struct sockets_listener *listener)
{
	return listener->most_waiting / (listener->most_backlog + 1.0);
}

static void by_listener(struct openmetrics *to, const struct sockets *sockets, const char *name, const char *help,
	double (*value)(const struct sockets_listener *listener))
{
	char address[NETADDR_TEXT_MAX], port[PORT_TEXT_MAX];

	openmetrics_family(to, name, OPENMETRICS_GAUGE, help);
	for (size_t i = 0; i < sockets->listener_count; i++) {
		const struct sockets_listener *listener = &sockets->listeners[i];

		snprintf(port, sizeof(port), "%u", listener->port);
		openmetrics_real(to,
			OPENMETRICS_LABELS({"address", netaddr_format(&listener->address, address)}, {"port", port}),
			value(listener));
	}
}

static void write_sockets(struct openmetrics *to, const struct metrics *metrics)
{
	const struct sockets *sockets = &metrics->sockets;

	openmetrics_gauge(to, "sockets_readable", "0 if the kernel does not list its sockets", sockets->error == 0);
	openmetrics_family(to, "sockets_timestamp_seconds", OPENMETRICS_GAUGE, "Unix time when the sockets were read");
	openmetrics_real(to, OPENMETRICS_NO_LABELS, metrics->sockets_timestamp);
	openmetrics_family(to, "sockets_read_seconds", OPENMETRICS_GAUGE, "how long it took to read the sockets");
	openmetrics_real(to, OPENMETRICS_NO_LABELS, metrics->sockets_duration);
	if (sockets->error)
		return;
	write_open(to, sockets);
	write_connections(to, sockets);
	by_listener(to, sockets, "listener_sockets", "listening TCP sockets that serve a VIP", sockets_of);
	by_listener(to, sockets, "listener_full_sockets",
		"those of them whose accept queue is full, so that the kernel drops new connections", full_of);
	by_listener(to, sockets, "listener_queue_connections", "connections that wait for accept()", waiting_of);
	by_listener(to, sockets, "listener_queue_limit", "connections that may wait for accept()", backlog_of);
	by_listener(to, sockets, "listener_queue_used_ratio",
		"how full the fullest accept queue of these sockets is; 1: it takes no connection", used_of);
}

static void write_tcp(struct openmetrics *to)
{
	static const struct {
		const char *name, *help;
	} texts[] = {
#define X(symbol, line, kernel_name, name, help) {name, help},
		TCP_COUNTER_LIST(X)
#undef X
	};
	uint64_t values[TCP_COUNTER_COUNT];

	tcp_counters_read(values);
	for (int i = 0; i < TCP_COUNTER_COUNT; i++)
		openmetrics_counter(to, texts[i].name, texts[i].help, values[i]);
}

char *metrics_format(const struct metrics *metrics, enum openmetrics_format format, size_t *size)
{
	struct openmetrics to = {.format = format, .prefix = "glb_redirect_"};
	char *text;

	to.to = open_memstream(&text, size);
	if (!to.to)
		return NULL;
	openmetrics_family(&to, "build", OPENMETRICS_INFO, "version of glb-redirect");
	openmetrics_info(&to, OPENMETRICS_LABELS({"version", GLB_VERSION}));
	write_programs(&to, metrics);
	write_sockets(&to, metrics);
	write_tcp(&to);
	openmetrics_end(&to);
	if (fclose(to.to) == 0)
		return text;
	free(text);
	return NULL;
}
