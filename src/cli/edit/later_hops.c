/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/edit/later_hops.h"

#include <stdlib.h>
#include <string.h>

#include "common/cpus.h"
#include "common/text.h"
#include "table/rows/table_build.h"

static bool row_has(const uint16_t *row, unsigned hops, uint16_t backend)
{
	for (unsigned hop = 0; hop < hops; hop++)
		if (row[hop] == backend)
			return true;
	return false;
}

/* Sets the bits of all hops that are in a row of `before` and not in that of `after`. */
static void compare(const struct table *before, const struct table *after, uint8_t *lost)
{
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		const uint16_t *old = before->rows + (size_t)row * before->row_hops;
		const uint16_t *new = after->rows + (size_t)row * after->row_hops;

		for (unsigned hop = 1; hop < before->row_hops; hop++)
			if (!row_has(new, after->row_hops, old[hop]))
				lost[old[hop]] |= (uint8_t)(1u << hop);
	}
}

/* Builds the rows of a copy of the table with its newest `states` previous states. The caller frees copy->rows. */
static bool build(const struct table *table, uint32_t states, struct table *copy)
{
	struct table_set set = {.count = 1, .tables = copy};

	*copy = *table;
	copy->past_count = states;
	copy->rows = NULL;
	return table_build(&set, cpus_usable()) == 0;
}

bool later_hops_find(struct later_hops *hops, const struct table *table)
{
	struct table before, after;
	bool built = build(table, table->past_count, &before);

	*hops = (struct later_hops){.table = table};
	for (uint32_t left = 0; left < table->past_count && built; left++) {
		hops->lost[left] = calloc(table->backend_count, 1);
		built = hops->lost[left] && build(table, left, &after);
		if (built) {
			compare(&before, &after, hops->lost[left]);
			free(after.rows);
		}
	}
	free(before.rows);
	if (!built)
		command_error("cannot compare the rows: out of memory");
	return built;
}

void later_hops_free(struct later_hops *hops)
{
	for (uint32_t left = 0; left <= TABLE_MAX_PAST; left++)
		free(hops->lost[left]);
}

struct accepted later_hops_read(const struct proxies *proxies, const struct netaddr *backend)
{
	const struct samples *samples = proxies_find(proxies, backend);
	char label[SAMPLES_LABEL_MAX], address[NETADDR_TEXT_MAX];
	struct accepted accepted = {.known = samples};
	const char *sample;
	uint64_t count;
	uint32_t hop;

	for (size_t at = 0;
		accepted.known && (sample = samples_next(samples, "glb_redirect_accepted_packets_total", &at));
		accepted.samples++) {
		accepted.known = samples_label(sample, "hop", label) && text_number(label, 1, TABLE_MAX_HOPS, &hop) &&
				 samples_count(sample, &count);
		if (accepted.known)
			accepted.at_hop[hop - 1] += count;
	}
	for (size_t at = 0; accepted.known && (sample = samples_next(samples, "glb_redirect_packets_total", &at));)
		if (samples_label(sample, "result", label) && strcmp(label, "accepted_last_resort") == 0 &&
			samples_count(sample, &count))
			accepted.last_resort += count;
	accepted.known = accepted.known && accepted.samples;
	if (samples && !accepted.known)
		proxies_complain(proxies,
			"%s: its metrics do not tell at which hop it has accepted packets: is the program attached, and of this version?",
			netaddr_format(backend, address));
	return accepted;
}

bool later_hops_unused(
	const struct accepted *first, const struct accepted *second, uint8_t lost, unsigned *hop, uint64_t *count)
{
	uint64_t later = 0;

	*hop = 0;
	for (unsigned h = 1; h < TABLE_MAX_HOPS; h++) {
		uint64_t packets = second->at_hop[h] - first->at_hop[h];

		later += packets;
		if (lost >> h & 1 && packets && !*hop) {
			*hop = h + 1;
			*count = packets;
		}
	}
	/* Packets that no proxy knows, such as scans, are accepted at the last hop. */
	return !*hop || later <= second->last_resort - first->last_resort;
}
