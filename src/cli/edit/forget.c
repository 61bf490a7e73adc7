/* SPDX-License-Identifier: BSD-3-Clause */
/* The verb forget. With --proxies it forgets what the proxies prove to be unused, whatever its age. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/edit/edit.h"
#include "cli/edit/history.h"
#include "cli/edit/later_hops.h"
#include "common/text.h"

int edit_check_forget(const char *verb, char **operands, int count)
{
	return count ? command_usage("edit: %s: unexpected operand '%s'", verb, operands[0]) : COMMAND_OK;
}

/* A table, and the packets that its proxies had accepted when they were asked first, and again. */
struct evidence {
	struct edit *edit;
	uint32_t t;
	const struct table *table;
	const char *label;
	struct later_hops hops;
	struct accepted *first, *second; /* for each backend of the table; owned */
};

/* Returns the places that a backend loses if all states are forgotten, or only some. */
static uint8_t lost_anywhere(const struct evidence *evidence, uint32_t backend)
{
	uint8_t lost = 0;

	for (uint32_t left = 0; left < evidence->table->past_count; left++)
		lost |= evidence->hops.lost[left][backend];
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
	known = proxies_open(&proxies, file, evidence->edit->args) && proxies_ask(&proxies, backends, count);
	for (uint32_t b = 0; b < table->backend_count && known; b++)
		if (lost_anywhere(evidence, b)) {
			accepted[b] = later_hops_read(&proxies, &table->backends[b].addr);
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
		uint8_t lost = evidence->hops.lost[left][b];
		uint64_t count;
		unsigned hop;

		if (!lost || !evidence->first[b].known || !evidence->second[b].known ||
			later_hops_unused(&evidence->first[b], &evidence->second[b], lost, &hop, &count))
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

	if (!later_hops_find(&evidence->hops, evidence->table) || !read_all(evidence, evidence->first))
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
	later_hops_free(&evidence.hops);
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
