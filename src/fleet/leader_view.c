/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "fleet/leader_parts.h"
#include "rollout/rollout_json.h"

static void set_ready(void *data)
{
	((struct leader_key *)data)->ready = true;
}

static void change_rollout(void *data, const struct etcd_kv *kv)
{
	struct leader_key *key = data;
	struct leader *leader = key->leader;
	char fault[ROLLOUT_REASON_MAX] = "it is not text, or too long";

	key->revision = kv->value || kv->fault ? kv->mod_revision : 0;
	rollout_free(&leader->rollout);
	leader->state.error[0] = '\0';
	if (key->revision && !(kv->value && rollout_parse(kv->value, kv->mod_revision, &leader->rollout, fault)))
		snprintf(leader->state.error, sizeof(leader->state.error),
			"%s/rollout: this version cannot read the roll-out: %.300s", leader->prefix, fault);
}

static void change_name(void *data, const struct etcd_kv *kv)
{
	struct leader_key *key = data;
	struct leader_state *state = &key->leader->state;

	key->revision = kv->value || kv->fault ? kv->mod_revision : 0;
	key->leader->holder = key->revision ? kv->lease : 0;
	snprintf(state->name, sizeof(state->name), "%s", kv->value ? kv->value : "");
	text_mend(state->name);
}

static void change_table(void *data, const struct etcd_kv *kv)
{
	((struct leader_key *)data)->revision = kv->value || kv->fault ? kv->mod_revision : 0;
}

static void change_director(void *data, const struct etcd_kv *kv)
{
	struct leader *leader = ((struct leader_key *)data)->leader;
	struct rollout_director director, *at = leader->directors, *end;
	char folder[ROLLOUT_KEY_MAX];
	const char *name = kv->key + strlen(rollout_key(leader->prefix, folder, "directors/"));

	rollout_parse_director(name, kv->value, &director);
	for (end = at + leader->director_count; at < end && strcmp(at->name, director.name) != 0; at++)
		;
	if (!kv->value && !kv->fault) {
		if (at < end)
			*at = leader->directors[--leader->director_count];
		return;
	}
	if (at == end)
		at = array_append(&leader->directors, &leader->director_count, sizeof(*at));
	if (at)
		*at = director;
	else
		leader->left_out = true;
}

static const struct {
	const char *key;
	bool is_prefix;
	size_t max;
	struct etcd_mirror_calls calls;
} kinds[LEADER_KEYS] = {
	[LEADER_ROLLOUT] = {"rollout", false, 1, {change_rollout, set_ready}},
	[LEADER_NAME] = {"leader", false, 1, {change_name, set_ready}},
	[LEADER_TABLE] = {"table", false, 1, {change_table, set_ready}},
	[LEADER_DIRECTORS] = {"directors/", true, ROLLOUT_MAX_DIRECTORS, {change_director, set_ready}},
};

bool leader_watch(struct leader *leader, unsigned index)
{
	struct leader_key *key = &leader->keys[index];
	char path[ROLLOUT_KEY_MAX];

	if (key->mirror)
		return true;
	*key = (struct leader_key){.leader = leader};
	key->mirror = etcd_mirror_open(leader->etcd, rollout_key(leader->prefix, path, "%s", kinds[index].key),
		kinds[index].is_prefix, kinds[index].max, &kinds[index].calls, key);
	return key->mirror;
}

void leader_unwatch(struct leader *leader, unsigned index)
{
	struct leader_key *key = &leader->keys[index];

	if (key->mirror)
		etcd_mirror_close(key->mirror);
	*key = (struct leader_key){.leader = leader};
	if (index == LEADER_DIRECTORS) {
		free(leader->directors);
		leader->directors = NULL;
		leader->director_count = 0;
		leader->left_out = false;
	}
}

bool leader_sees(const struct leader *leader, unsigned index)
{
	const struct leader_key *key = &leader->keys[index];

	return key->mirror && key->ready && etcd_mirror_is_current(key->mirror);
}
