/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON of a step: the text of WANTED, in which only backends, hops, balance and previous states differ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/alloc.h"
#include "cli/diff/first_holders.h"
#include "cli/past.h"
#include "cli/plan/plan.h"
#include "table/file/json/table_json_quic.h"

bool plan_leaves(const struct table_diff_backend *backend)
{
	const struct table_backend *before = backend->before, *after = backend->after;

	return before && before->state != TABLE_INACTIVE && (!after || after->state == TABLE_INACTIVE);
}

bool plan_drains(const struct table_diff_backend *backend)
{
	return plan_leaves(backend) && backend->first_before == 0;
}

bool plan_keeps_seed(const struct table_diff *pair)
{
	return pair->seed_known &&
	       memcmp(first_holders_seed(pair->before, pair->after), pair->after->seed, SIPHASH_KEY_SIZE) == 0;
}

bool plan_changes_family(const struct table_diff *pair)
{
	return pair->before && pair->after &&
	       pair->before->backends[0].addr.family != pair->after->backends[0].addr.family;
}

bool plan_can_help(const struct table_diff *pair)
{
	const struct table *before = pair->before, *after = pair->after;
	bool differ = false;

	if (!before || !after || pair->key_changed || !plan_keeps_seed(pair) || plan_changes_family(pair))
		return false;
	for (uint32_t i = 0; i < pair->backend_count && !differ; i++) {
		const struct table_backend *old = pair->backends[i].before, *new = pair->backends[i].after;

		differ = !old || !new || old->state != new->state || old->healthy != new->healthy ||
			 table_backend_weight(old) != table_backend_weight(new);
	}
	return differ || before->hops != after->hops || before->balance != after->balance;
}

bool plan_is_down(const struct table_diff_backend *backend)
{
	return (backend->before && !backend->before->healthy) || (backend->after && !backend->after->healthy);
}

/* CURRENT or WANTED, as it is or with the proxies that are down in one of both draining. */
struct stage {
	bool is_wanted, is_drained;
};

/* The first hops of a step are those of `at`, and the later ones those of `other`. */
static const struct {
	struct stage at, other;
} stages[PLAN_KINDS] = {
	[PLAN_ANNOUNCE] = {{false, false}, {true, false}},
	[PLAN_SWITCH] = {{true, false}, {false, false}},
	[PLAN_ANNOUNCE_DRAIN] = {{false, false}, {false, true}},
	[PLAN_DRAIN] = {{false, true}, {false, false}},
	[PLAN_ANNOUNCE_DRAINED] = {{false, true}, {true, true}},
	[PLAN_SWITCH_DRAINED] = {{true, true}, {false, true}},
	[PLAN_ANNOUNCE_UNDRAIN] = {{true, true}, {true, false}},
	[PLAN_UNDRAIN] = {{true, false}, {true, true}},
};

/* What a step says about a backend. */
struct wish {
	uint8_t state;
	bool healthy;
	unsigned weight;
};

static struct wish wish_of(const struct table_backend *backend, uint8_t state)
{
	return (struct wish){state, backend->healthy, table_backend_weight(backend)};
}

/* before, after: the backend in CURRENT and in WANTED; one may be NULL. */
static struct wish wish_at(
	const struct stage *stage, const struct table_backend *before, const struct table_backend *after)
{
	bool joins = after && after->state != TABLE_INACTIVE && (!before || before->state == TABLE_INACTIVE);

	if (!stage->is_wanted)
		return joins ? wish_of(after, TABLE_DRAINING)
			     : wish_of(before ? before : after, before ? before->state : after->state);
	if (before && before->state != TABLE_INACTIVE && (!after || after->state == TABLE_INACTIVE))
		return wish_of(after ? after : before, TABLE_DRAINING);
	return after ? wish_of(after, after->state) : wish_of(before, before->state);
}

static struct wish make_wish(const struct stage *stage, const struct table_diff_backend *backend)
{
	struct wish wish = wish_at(stage, backend->before, backend->after);

	if (stage->is_drained && plan_is_down(backend) && wish.state != TABLE_INACTIVE)
		wish.state = TABLE_DRAINING;
	return wish;
}

/* Changes a backend of WANTED as far as the wish differs. */
static void set_backend(
	struct json_edit *text, uint32_t t, uint32_t index, const struct table_backend *is, struct wish wish)
{
	char path[64], value[32];

	snprintf(path, sizeof(path), "tables[%u].backends[%u]", t, index);
	if (is->state != wish.state) {
		snprintf(value, sizeof(value), "\"%s\"", table_state_name(wish.state));
		alloc_check(json_edit_set(text, path, "state", value));
	}
	if (is->healthy != wish.healthy)
		alloc_check(json_edit_set(text, path, "healthy", wish.healthy ? "true" : "false"));
	if (table_backend_weight(is) != wish.weight) {
		snprintf(value, sizeof(value), "%u", wish.weight);
		alloc_check(json_edit_set(text, path, "weight", value));
	}
}

/* Appends a backend of CURRENT that WANTED does not have, with its health checks. */
static void append_backend(const struct plan_input *input, struct json_edit *text, const struct table_diff *pair,
	uint32_t index, struct wish wish)
{
	char path[64], ip[NETADDR_TEXT_MAX + 2], addr[NETADDR_TEXT_MAX], state[16], weight[16];
	struct json_edit_member members[6] = {{"ip", ip}, {"state", state}, {"healthy", wish.healthy ? "true" : "false"}};
	const struct quic_server_id *old = pair->before->backends[index].server_ids;
	struct quic_server_id ids[QUIC_MAX_SERVER_IDS] = {0};
	char id_text[SERVER_ID_TEXT_MAX];
	size_t count = 3, used = 0;
	char *checks = NULL;

	snprintf(ip, sizeof(ip), "\"%s\"", netaddr_format(&pair->before->backends[index].addr, addr));
	snprintf(state, sizeof(state), "\"%s\"", table_state_name(wish.state));
	snprintf(weight, sizeof(weight), "%u", wish.weight);
	snprintf(path, sizeof(path), "tables[%u].backends[%u].healthchecks", pair->old_index, index);
	if (input->current_text.text)
		checks = json_edit_get(&input->current_text, path);
	if (wish.weight != TABLE_DEFAULT_WEIGHT)
		members[count++] = (struct json_edit_member){"weight", weight};
	for (unsigned i = 0; i < QUIC_MAX_SERVER_IDS; i++)
		if (table_quic_uses(pair->after, old[i].length))
			ids[used++] = old[i];
	if (used)
		members[count++] = (struct json_edit_member){"server_id", server_id_text(ids, id_text)};
	if (checks)
		members[count++] = (struct json_edit_member){"healthchecks", checks};
	snprintf(path, sizeof(path), "tables[%u].backends", pair->new_index);
	alloc_check(json_edit_append(text, path, members, count));
	free(checks);
}

/* Returns a copy of the table of a stage. It borrows all but its backends. */
static struct table copy_stage(const struct table_diff *pair, const struct stage *stage)
{
	const struct table *table = stage->is_wanted ? pair->after : pair->before;
	struct table copy = *table;

	copy.backends = alloc_zeroed(table->backend_count, sizeof(*copy.backends));
	memcpy(copy.backends, table->backends, table->backend_count * sizeof(*copy.backends));
	for (uint32_t i = 0; i < pair->backend_count && stage->is_drained; i++) {
		const struct table_diff_backend *backend = &pair->backends[i];
		const struct table_backend *own = stage->is_wanted ? backend->after : backend->before;

		if (own && plan_is_down(backend) && own->state != TABLE_INACTIVE)
			copy.backends[own - table->backends].state = TABLE_DRAINING;
	}
	return copy;
}

/* Adds the state of a table, if it has first hops: with the health of its backends, or as if all were healthy. */
static void add_state(struct past_list *list, const struct table *table, bool with_health)
{
	struct table_past state;

	past_of_table(table, with_health, &state);
	state.time = time(NULL);
	if (state.backend_count)
		past_list_add(list, past_text(&state));
	free(state.backends);
}

static bool any_down(const struct table *table)
{
	for (uint32_t i = 0; i < table->backend_count; i++)
		if (!table->backends[i].healthy && table->backends[i].state <= TABLE_ACTIVE)
			return true;
	return false;
}

/*
 * Sets `previous`: the other stage first, and then the previous states of CURRENT. If some of its backends are down,
 * the same state with these up follows, because they may come back.
 */
static void set_past(struct json_edit *text, const struct table_diff *pair, enum plan_kind kind, bool with_past)
{
	struct table other = copy_stage(pair, &stages[kind].other);
	struct past_list list = {0};
	char path[32];

	if (any_down(&other))
		add_state(&list, &other, true);
	add_state(&list, &other, false);
	free(other.backends);
	for (uint32_t i = 0; with_past && i < pair->before->past_count && list.count < TABLE_MAX_PAST; i++)
		past_list_add(&list, past_text(&pair->before->past[i]));
	snprintf(path, sizeof(path), "tables[%u]", pair->new_index);
	alloc_check(past_list_write(&list, text, path));
}

static void set_settings(struct json_edit *text, const struct table_diff *pair, enum plan_kind kind)
{
	const struct table *before = pair->before, *after = pair->after;
	char path[48], value[16];

	snprintf(path, sizeof(path), "tables[%u]", pair->new_index);
	if (before->hops > after->hops) {
		snprintf(value, sizeof(value), "%u", before->hops);
		alloc_check(json_edit_set(text, path, "hops", value));
	}
	if (stages[kind].at.is_wanted || before->balance == after->balance)
		return;
	if (before->balance) {
		snprintf(value, sizeof(value), "%u.%03u", before->balance / 1000, before->balance % 1000);
		alloc_check(json_edit_set(text, path, "balance", value));
	} else {
		strcat(path, ".balance");
		alloc_check(json_edit_remove(text, path));
	}
}

static void change_table(const struct plan_input *input, struct json_edit *text, const struct table_diff *pair,
	enum plan_kind kind, bool with_past)
{
	const struct table *before = pair->before, *after = pair->after;
	const struct stage *at = &stages[kind].at;

	for (uint32_t i = 0; i < pair->backend_count; i++) {
		const struct table_backend *new = pair->backends[i].after;

		if (new)
			set_backend(text, pair->new_index, (uint32_t)(new - after->backends), new,
				make_wish(at, &pair->backends[i]));
	}
	for (uint32_t i = 0; i < before->backend_count; i++) {
		const struct table_diff_backend backend = {.before = &before->backends[i]};

		if (table_find_backend(after, NULL, &backend.before->addr) == after->backend_count)
			append_backend(input, text, pair, i, make_wish(at, &backend));
	}
	set_settings(text, pair, kind);
	set_past(text, pair, kind, with_past);
}

void plan_text(const struct plan_input *input, enum plan_kind kind, bool with_past, struct json_edit *text)
{
	const struct table_set_diff *diff = &input->at_once;

	*text = (struct json_edit){.text = strdup(input->wanted.text), .size = input->wanted.size};
	alloc_check(text->text);
	for (uint32_t i = 0; i < diff->count && kind != PLAN_WANTED; i++)
		if (plan_can_help(&diff->tables[i]))
			change_table(input, text, &diff->tables[i], kind, with_past);
}
