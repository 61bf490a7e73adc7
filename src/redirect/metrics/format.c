/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the metrics. Each function writes some families. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/text.h"
#include "redirect/loader.h"
#include "redirect/metrics/metrics.h"

#define PORT_TEXT_MAX 8

#define PROGRAMS(member) OPENMETRICS_GAUGE, FACTS_AT(struct metrics, member)

static const struct fact programs_facts[] = {
	{"programs_readable", NULL, PROGRAMS(readable), "0 if the pins of the programs cannot be read"},
	{"interfaces", NULL, PROGRAMS(program_count), "interfaces with a pinned program"},
	{"addresses_followed", NULL, PROGRAMS(followed),
		"1 if glb-redirect follow tells the programs about new addresses of this host"},
	{0},
};

static const struct fact sockets_facts[] = {
	{"sockets_readable", NULL, PROGRAMS(sockets_readable), "0 if the host's sockets or VIPs cannot be read"},
	{"sockets_timestamp_seconds", NULL, PROGRAMS(sockets_timestamp), "Unix time when the sockets were read"},
	{"sockets_read_seconds", NULL, PROGRAMS(sockets_duration), "how long it took to read the sockets"},
	{0},
};

/* The state of the program on an interface. NAN: not known. */
struct state {
	double here, companion, outer_ipv6, quic;
	bool open, has_counters;
};

#define STATE(member) OPENMETRICS_GAUGE, FACTS_AT(struct state, member)

static const struct fact state_facts[] = {
	{"attached", NULL, STATE(here), "1 if the program runs on the interface of this name"},
	{"tc_program_attached", NULL, STATE(companion),
		"0 if the tc program is missing, so that damaged packets can reach applications"},
	{"outer_ipv6", NULL, STATE(outer_ipv6), "1 if the program takes packets with outer IPv6, too"},
	{"quic", NULL, STATE(quic), "1 if the program reads QUIC connection IDs"},
	{"open_to_any_sender", NULL, STATE(open), "1 if allow_from allows every address"},
	{0},
};

static const struct fact counters_facts[] = {
	{"counters_readable", NULL, STATE(has_counters),
		"0 if the program is of a version with other counters, which are then missing"},
	{0},
};

static void write_states(struct openmetrics *to, const struct metrics *metrics, const struct fact *facts)
{
	for (const struct fact *fact = facts; fact->help; fact++) {
		facts_family(to, fact);
		for (size_t i = 0; i < metrics->program_count; i++) {
			const struct attached *program = &metrics->programs[i];
			const struct state state = {
				.here = program->location_error ? NAN : attached_here(program),
				.companion = !attached_here(program) || program->companion_error
						     ? NAN
						     : program->companion != COMPANION_MISSING,
				.outer_ipv6 = program->has_settings ? program->settings.outer_ipv6 : NAN,
				.quic = program->has_settings ? program->settings.quic != 0 : NAN,
				.open = program->open,
				.has_counters = program->counter_count,
			};

			facts_sample(to, fact, OPENMETRICS_LABELS({"interface", program->interface}), &state);
		}
	}
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

static void write_senders(struct openmetrics *to, const struct metrics_senders *senders)
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
					{"result", attached_counter_names[counter]}),
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
	openmetrics_family(to, "lost_packets", OPENMETRICS_COUNTER,
		"packets that the program handed over for sending, and that the kernel or the driver refused");
	for (size_t i = 0; i < metrics->program_count; i++)
		for (int by = 0; by < LOSSES_COUNT && metrics->programs[i].has_losses; by++)
			openmetrics_number(to,
				OPENMETRICS_LABELS(
					{"interface", metrics->programs[i].interface}, {"by", losses_names[by]}),
				metrics->programs[i].losses[by]);
}

static void write_programs(struct openmetrics *to, const struct metrics *metrics)
{
	facts_metrics(to, programs_facts, metrics);
	write_states(to, metrics, state_facts);
	write_senders(to, &metrics->senders);
	write_states(to, metrics, counters_facts);
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

static void write_listeners(struct openmetrics *to, const struct sockets *sockets)
{
	char address[NETADDR_TEXT_MAX], port[PORT_TEXT_MAX];

	for (const struct fact *fact = sockets_listener_facts; fact->help; fact++) {
		facts_family(to, fact);
		for (size_t i = 0; i < sockets->listener_count; i++) {
			const struct sockets_listener *listener = &sockets->listeners[i];

			snprintf(port, sizeof(port), "%u", listener->port);
			netaddr_format(&listener->address, address);
			facts_sample(to, fact, OPENMETRICS_LABELS({"address", address}, {"port", port}), listener);
		}
	}
}

static void write_sockets(struct openmetrics *to, const struct metrics *metrics)
{
	facts_metrics(to, sockets_facts, metrics);
	if (metrics->sockets.error)
		return;
	write_open(to, &metrics->sockets);
	write_connections(to, &metrics->sockets);
	write_listeners(to, &metrics->sockets);
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
	for (int i = 0; i < TCP_COUNTER_COUNT; i++)
		openmetrics_counter(&to, tcp_counters[i].metric, tcp_counters[i].help, metrics->tcp[i]);
	openmetrics_end(&to);
	return text_end(to.to, &text);
}
