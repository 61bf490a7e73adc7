/* SPDX-License-Identifier: BSD-3-Clause */
/* The verb forget. With --proxies it forgets what the proxies prove to be unused, whatever its age. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/edit/edit.h"
#include "cli/edit/history.h"
#include "cli/fleet/proxies.h"
#include "common/cpus.h"
#include "common/text.h"
#include "table/rows/table_build.h"

int edit_check_forget(const char *verb, char **operands, int count)
{
	return count ? command_usage("edit: %s: unexpected operand '%s'", verb, operands[0]) : COMMAND_OK;
}

/* Packets that a proxy has accepted at each hop. */
struct accepted {
	bool known;
	uint64_t at_hop[TABLE_MAX_HOPS];
	uint64_t last_resort; /* of them, those that no proxy knew */
	size_t samples;
};

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

/*
 * Sets lost[n] to the places that rows lose if the newest n previous states remain. For each backend of the table, bit
 * h means hop h, from 0, which is the first one. The caller frees them. False: an error was printed.
 */
static bool find_lost(const struct table *table, uint8_t *lost[TABLE_MAX_PAST + 1])
{
	struct table before, after;
	bool built = build(table, table->past_count, &before);

	for (uint32_t left = 0; left < table->past_count && built; left++) {
		lost[left] = calloc(table->backend_count, 1);
		built = lost[left] && build(table, left, &after);
		if (built) {
			compare(&before, &after, lost[left]);
			free(after.rows);
		}
	}
	free(before.rows);
	if (!built)
		command_error("cannot compare the rows: out of memory");
	return built;
}

/* Reads what the proxy has accepted since its program was attached. The result is not known if an error was printed. */
static struct accepted read_accepted(const struct proxies *proxies, const struct netaddr *backend)
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

/*
 * Returns true if the proxy has accepted nothing between the readings at the places of the bits `lost`, but packets
 * that belong to no connection. Otherwise *hop is the place with packets, from 1, and *count their number.
 */
static bool is_unused(
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

/* A table, and the packets that its proxies had accepted when they were asked first, and again. */
struct evidence {
	struct edit *edit;
	uint32_t t;
	const struct table *table;
	const char *label;
	uint8_t *lost[TABLE_MAX_PAST + 1]; /* find_lost(); owned */
	struct accepted *first, *second; /* for each backend of the table; owned */
};

/* Returns the places that a backend loses if all states are forgotten, or only some. */
static uint8_t lost_anywhere(const struct evidence *evidence, uint32_t backend)
{
	uint8_t lost = 0;

	for (uint32_t left = 0; left < evidence->table->past_count; left++)
		lost |= evidence->lost[left][backend];
	return lost;
}

/* Reads the metrics of the proxies that rows may lose. False: some are not known, and the user does not insist. */
static bool read_all(struct evidence *evidence, struct accepted *accepted)
{
	const char *file = evidence->edit->args->options[EDIT_PROXIES];
	const struct table *table = evidence->table;
	struct netaddr *backends = calloc(table->backend_count, sizeof(*backends));
	struct proxies proxies;
	size_t count = 0;
	bool known;

	if (!backends)
		return edit_failed(evidence->edit);
	for (uint32_t b = 0; b < table->backend_count; b++)
		if (lost_anywhere(evidence, b))
			backends[count++] = table->backends[b].addr;
	known = proxies_open(&proxies, file, evidence->edit->args->numbers[TELEMETRY_TIMEOUT],
			evidence->edit->args->options[CHANGE_FORCE]) &&
		proxies_ask(&proxies, backends, count);
	for (uint32_t b = 0; b < table->backend_count && known; b++)
		if (lost_anywhere(evidence, b)) {
			accepted[b] = read_accepted(&proxies, &table->backends[b].addr);
			known = accepted[b].known || proxies.forced;
		}
	if (!known)
		command_error("%s: refused: no previous state of table %s is forgotten", evidence->edit->change.named,
			evidence->label);
	proxies_close(&proxies);
	free(backends);
	return known;
}

/* Returns false if a counter has gone back: the program was attached again. */
static bool is_steady(struct evidence *evidence)
{
	char address[NETADDR_TEXT_MAX];

	for (uint32_t b = 0; b < evidence->table->backend_count; b++) {
		const struct accepted *first = &evidence->first[b], *second = &evidence->second[b];
		bool back = first->samples != second->samples || second->last_resort < first->last_resort;

		for (unsigned hop = 0; hop < TABLE_MAX_HOPS; hop++)
			back |= second->at_hop[hop] < first->at_hop[hop];
		if (!back || !first->known || !second->known)
			continue;
		command_error(
			"%s: refused: the counters of %s went back, because its program was attached again: run the command again",
			evidence->edit->change.named, netaddr_format(&evidence->table->backends[b].addr, address));
		return false;
	}
	return true;
}

/* Returns whether no proxy needs more than the newest `left` states. Otherwise says why if `say` is set. */
static bool is_enough(const struct evidence *evidence, uint32_t left, bool say)
{
	char address[NETADDR_TEXT_MAX];

	for (uint32_t b = 0; b < evidence->table->backend_count; b++) {
		uint8_t lost = evidence->lost[left][b];
		uint64_t count;
		unsigned hop;

		if (!lost || !evidence->first[b].known || !evidence->second[b].known ||
			is_unused(&evidence->first[b], &evidence->second[b], lost, &hop, &count))
			continue;
		if (say)
			command_error("%s: refused: %s has accepted %" PRIu64
				      " packet%s at hop %u, so connections need the previous states of table %s",
				evidence->edit->change.named, netaddr_format(&evidence->table->backends[b].addr, address),
				count, text_plural(count), hop, evidence->label);
		return false;
	}
	return true;
}

static void wait_for(uint32_t seconds)
{
	struct timespec left = {.tv_sec = seconds};

	fflush(stdout);
	while (nanosleep(&left, &left) != 0)
		;
}

/* Reads the counters twice, and forgets as many states as possible. */
static bool forget_unused(struct evidence *evidence, uint32_t wait_s)
{
	uint32_t states = evidence->table->past_count, left = 0;

	if (!find_lost(evidence->table, evidence->lost) || !read_all(evidence, evidence->first))
		return false;
	wait_for(wait_s);
	if (!read_all(evidence, evidence->second) || !is_steady(evidence))
		return false;
	while (left < states && !is_enough(evidence, left, left + 1 == states))
		left++;
	if (left == states) {
		evidence->edit->failed = CLI_BROKEN;
		return false;
	}
	printf("%s: in %" PRIu32 " s no connection needed %" PRIu32 " of %" PRIu32 " previous states\n",
		evidence->label, wait_s, states - left, states);
	return history_keep_newest(&evidence->edit->change, evidence->t, left);
}

static bool forget_proven(struct edit *edit, uint32_t t, uint32_t wait_s)
{
	const struct table *table = &edit->change.old.set.tables[t];
	char label[16];
	struct evidence evidence = {.edit = edit, .t = t, .table = table};
	bool forgotten = true;

	if (!table->past_count)
		return true;
	evidence.label = table_label(&edit->change.old.set, t, label);
	evidence.first = calloc(table->backend_count, sizeof(*evidence.first));
	evidence.second = calloc(table->backend_count, sizeof(*evidence.second));
	if (evidence.first && evidence.second)
		forgotten = forget_unused(&evidence, wait_s);
	else
		forgotten = edit_failed(edit);
	for (uint32_t left = 0; left < table->past_count; left++)
		free(evidence.lost[left]);
	free(evidence.first);
	free(evidence.second);
	edit->change.proven = forgotten;
	return forgotten;
}

bool edit_forget(struct edit *edit)
{
	const char *const *options = edit->args->options;
	bool forgotten = edit_needs_one_table(edit);
	uint32_t keep_s, wait_s = EDIT_WAIT_S;

	if (!history_keep(edit->args, &keep_s))
		return false;
	if (options[EDIT_WAIT])
		text_duration(options[EDIT_WAIT], EDIT_MAX_WAIT_S, &wait_s);
	for (uint32_t t = 0; t < edit->change.old.set.count && forgotten; t++) {
		if (!edit->selected[t])
			continue;
		forgotten = options[EDIT_PROXIES] ? forget_proven(edit, t, wait_s)
						  : history_forget_old(&edit->change, t, keep_s);
	}
	return forgotten;
}
