/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "common/utc.h"
#include "packet/flow.h"
#include "table/rows/table_rows.h"

struct table_rank explain_rank(const uint8_t seed[SIPHASH_KEY_SIZE], uint16_t row, const struct table_backend *backend)
{
	uint64_t word = table_rows_word(seed, &backend->addr);

	return table_rank_of(table_rows_score(seed, table_rows_seed(seed, row), word), table_backend_weight(backend));
}

/* Backends with equal ranks keep their order in the table. */
static bool is_before(const struct table_rank *a, uint32_t a_index, const struct table_rank *b, uint32_t b_index)
{
	return table_rank_before(a, b) || (!table_rank_before(b, a) && a_index < b_index);
}

/* Returns the backend's place in the row's natural order, from 1. Sets *owner to the best of the other backends before
 * it, or to the backend itself. taking: sets it to the best of those that are active or filling. */
static uint32_t natural_place(const struct table *table, uint16_t row, uint32_t backend, bool taking, uint32_t *owner)
{
	struct table_rank own = explain_rank(table->seed, row, &table->backends[backend]), least = own;
	uint32_t place = 1;

	*owner = backend;
	for (uint32_t i = 0; i < table->backend_count; i++) {
		uint8_t state = table->backends[i].state;
		struct table_rank other;

		if (state == TABLE_INACTIVE || i == backend)
			continue;
		other = explain_rank(table->seed, row, &table->backends[i]);
		place += is_before(&other, i, &own, backend);
		if (is_before(&other, i, &least, *owner) && (!taking || state != TABLE_DRAINING)) {
			least = other;
			*owner = i;
		}
	}
	return place;
}

void explainer_free(struct explainer *explainer)
{
	for (uint32_t t = 0; explainer->matches && t < explainer->set->count; t++)
		table_matches_free(&explainer->matches[t]);
	free(explainer->matches);
	explainer->matches = NULL;
}

/* Returns the matchings of a table; NULL: it has none. */
static const struct table_matches *matches_of(struct explainer *explainer, uint32_t table)
{
	const struct table *of = &explainer->set->tables[table];

	if (!table_is_matched(of))
		return NULL;
	if (!explainer->matches)
		explainer->matches = alloc_zeroed(explainer->set->count, sizeof(*explainer->matches));
	if (!explainer->matches[table].states[0] && table_matches_find(of, &explainer->matches[table]))
		alloc_failed();
	return &explainer->matches[table];
}

static uint32_t match_of(const struct table_matches *matches, unsigned state, uint16_t row)
{
	return matches && matches->states[state] ? matches->states[state][row] : TABLE_MATCHES_NONE;
}

/* The first hop is the matched backend, although others that take new connections are before it in natural order. */
static bool explain_balance(const struct table *table, uint16_t row, uint32_t index, char buf[EXPLAIN_MAX])
{
	char text[NETADDR_TEXT_MAX];
	uint32_t owner, place = natural_place(table, row, index, true, &owner);

	if (owner == index)
		return false;
	snprintf(buf, EXPLAIN_MAX, "place %u in natural order: balance moved the row, which %s would have", place,
		netaddr_format(&table->backends[owner].addr, text));
	return true;
}

/* A later hop is there because it is matched, or was. */
static bool explain_later(const struct table *table, const struct table_matches *matches, uint16_t row, uint32_t index,
	char buf[EXPLAIN_MAX])
{
	char text[UTC_TEXT_MAX];

	if (match_of(matches, 0, row) == index) {
		snprintf(buf, EXPLAIN_MAX, "would be first, but is down");
		return true;
	}
	for (unsigned state = 1; state <= table->past_count; state++) {
		if (match_of(matches, state, row) != index)
			continue;
		snprintf(buf, EXPLAIN_MAX, "was first in previous[%u], until %s", state - 1,
			utc_format(table->past[state - 1].time, text));
		return true;
	}
	return false;
}

/* Explains a hop by the natural order. matched: the backend that would be first if it were healthy. */
static void explain_natural(const struct table *table, uint16_t row, unsigned position, uint32_t index,
	uint32_t matched, char buf[EXPLAIN_MAX])
{
	const struct table_backend *backend = &table->backends[index];
	const char *rest = "", *state;
	char text[NETADDR_TEXT_MAX];
	uint32_t owner, place = natural_place(table, row, index, false, &owner);

	if (position == 0 && !table_backend_is_good(backend))
		rest = backend->healthy ? "; none is good, it is the first healthy" : "; none is healthy";
	else if (position == 0 && matched != TABLE_MATCHES_NONE && matched != index)
		owner = matched;
	netaddr_format(&table->backends[owner].addr, text);
	state = table->backends[owner].healthy ? table_state_name(table->backends[owner].state) : "down";
	if (place == 1 && (owner == index || position > 0 || *rest))
		snprintf(buf, EXPLAIN_MAX, "natural owner%s", rest);
	else if (position > 0 || *rest)
		snprintf(buf, EXPLAIN_MAX, "place %u in natural order%s", place, rest);
	else if (place <= 2)
		snprintf(buf, EXPLAIN_MAX, "first good: %s is %s", text, state);
	else
		snprintf(buf, EXPLAIN_MAX, "first good: %s is %s (%u skipped)", text, state, place - 1);
}

/* Says why a hop is not at the place that its reason gives it. */
static void explain_down(const struct table *table, uint16_t row, unsigned position, char buf[EXPLAIN_MAX])
{
	const uint16_t *hops = table->rows + (size_t)row * table->row_hops;
	size_t used = strlen(buf);

	if (position > 1 && table_is_matched(table) && !table->backends[hops[position]].healthy &&
		table->backends[hops[1]].healthy)
		snprintf(buf + used, EXPLAIN_MAX - used, "; hops that are down come last");
}

const char *explain_hop(
	struct explainer *explainer, uint32_t table_index, uint16_t row, unsigned position, char buf[EXPLAIN_MAX])
{
	const struct table *table = &explainer->set->tables[table_index];
	uint32_t index = table->rows[(size_t)row * table->row_hops + position];
	const struct table_matches *matches = explainer->has_seed ? matches_of(explainer, table_index) : NULL;
	uint32_t matched = match_of(matches, 0, row);

	if (!explainer->has_seed)
		snprintf(buf, EXPLAIN_MAX, "hop %u of row %u", position + 1, row);
	else if (position == 0 && matched == index && explain_balance(table, row, index, buf))
		return buf;
	else if (position == 0 || !matches || !explain_later(table, matches, row, index, buf))
		explain_natural(table, row, position, index, matched, buf);
	if (explainer->has_seed)
		explain_down(table, row, position, buf);
	return buf;
}

const char *explain_unmatched(const struct flow *flow, const struct routes *routes, const struct steering_config *steering)
{
	if (flow->kind == FLOW_ECHO && !steering->forward_ping)
		return "forward_icmp_ping_responses is off";
	if (classify_address(routes->classifier, flow->family, flow->destination) != CLASSIFY_NONE)
		return "binds cover the destination address, but not this protocol and port";
	return "no bind covers the destination address";
}
