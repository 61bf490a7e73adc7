/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/metrics/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/array.h"
#include "common/clock.h"
#include "redirect/host/system.h"

/* The sockets are read at most this often, and take at most a twentieth of the time of one CPU. */
#define SOCKETS_INTERVAL_US 5000000
#define SOCKETS_SHARE       20

static void keep_senders(struct metrics_senders *senders, const char *interface, const struct redirect_prefixes *prefixes)
{
	struct metrics_sender *program = &senders->programs[senders->count++];

	*program = (struct metrics_sender){.count = prefixes->count};
	snprintf(program->interface, sizeof(program->interface), "%s", interface);
	if (program->count > METRICS_MAX_SENDERS) {
		program->omitted = program->count - METRICS_MAX_SENDERS;
		program->count = METRICS_MAX_SENDERS;
	}
	memcpy(program->prefixes, prefixes->items, program->count * sizeof(program->prefixes[0]));
}

static int add_senders(const char *interface, void *data)
{
	struct redirect_prefixes prefixes = {0};
	struct metrics_senders *senders = data;
	struct pins pins;

	if (senders->count == METRICS_MAX_PROGRAMS || pins_open(interface, &pins) != 0)
		return 0;
	if (pins.lists.prefixes >= 0 && lists_read(&pins.lists, REDIRECT_LIST_FROM, &prefixes) == 0 && !prefixes.any &&
		prefixes.count)
		keep_senders(senders, interface, &prefixes);
	free(prefixes.items);
	pins_close(&pins);
	return 0;
}

static int add_program(const char *interface, void *data)
{
	struct metrics *metrics = data;
	struct attached *program;
	struct pins pins;
	int error = pins_open(interface, &pins);

	if (error == -ENOENT)
		return 0; /* it was detached meanwhile */
	if (error)
		return error;
	program = array_append(&metrics->programs, &metrics->program_count, sizeof(*program));
	if (program)
		attached_read(interface, &pins, program);
	pins_close(&pins);
	return program ? 0 : -ENOMEM;
}

static void read_sockets(struct metrics *metrics)
{
	uint64_t start = clock_now_us(), end;

	if (start < metrics->sockets_next_us)
		return;
	sockets_read(&metrics->sockets);
	metrics->senders.count = 0;
	pins_for_each(add_senders, &metrics->senders);
	end = clock_now_us();
	metrics->sockets_duration = (double)(end - start) / 1e6;
	metrics->sockets_timestamp = (double)clock_read_ns(CLOCK_REALTIME) / 1e9;
	metrics->sockets_next_us = end + SOCKETS_SHARE * (end - start);
	if (metrics->sockets_next_us < start + SOCKETS_INTERVAL_US)
		metrics->sockets_next_us = start + SOCKETS_INTERVAL_US;
}

void metrics_free(struct metrics *metrics)
{
	free(metrics->programs);
	metrics->programs = NULL;
	metrics->program_count = 0;
}

int metrics_read(struct metrics *metrics)
{
	metrics_free(metrics);
	metrics->programs_error = system_can_read_maps() ? pins_for_each(add_program, metrics) : -EPERM;
	metrics->readable = !metrics->programs_error;
	metrics->followed = pins_has_follower();
	tcp_counters_read(metrics->tcp);
	read_sockets(metrics);
	metrics->sockets_readable = !metrics->sockets.error;
	return metrics->programs_error;
}
