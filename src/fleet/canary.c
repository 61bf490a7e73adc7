/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/canary.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "fleet/fleet.h"
#include "program/log.h"

#define RETRY_MS 5000u

void canary_open(struct fleet *fleet)
{
	/* Only what PREFIX/table had counts as the newest revision. */
	fleet->canary.away = fleet->desired.state.applied > fleet->desired.state.newest;
}

/* A roll-out of an etcd that went back, or one before a table that was seen, makes nobody a canary. */
static bool is_named(const struct fleet *fleet, const struct rollout *rollout)
{
	const struct state *state = &fleet->desired.state;

	return rollout && rollout_is_active(rollout) && rollout_is_canary(rollout) &&
	       strcmp(rollout->canary, fleet->conf.name) == 0 && !*fleet->record.conflict &&
	       rollout->plan_revision > state->newest && !fleet->desired.unconfirmed &&
	       (!state->cluster || state->cluster == etcd_state(fleet->etcd)->cluster);
}

static void on_text(void *data, enum etcd_result result, const json_t *body)
{
	struct fleet *fleet = data;
	struct canary *canary = &fleet->canary;
	const struct rollout *rollout = leader_state(fleet->leader)->rollout;
	struct etcd_kv kv = {0};

	canary->asking = false;
	if (result != ETCD_DONE) {
		canary->revision = 0;
		canary->next_ms = clock_now_ms() + RETRY_MS;
	} else if (is_named(fleet, rollout) && rollout->plan_revision == canary->revision) {
		bool good = etcd_range_kv(body, 0, &kv) && kv.value && kv.mod_revision == canary->revision;

		log_notice("roll-out %s: this director is the canary, and tries step %" PRIu32, rollout->id,
			rollout->step);
		desired_try(&fleet->desired, good ? kv.value : NULL, canary->revision);
		canary->away = true;
		etcd_kv_free(&kv);
	}
}

void canary_step(struct fleet *fleet)
{
	struct canary *canary = &fleet->canary;
	const struct rollout *rollout = leader_state(fleet->leader)->rollout;
	char key[ROLLOUT_KEY_MAX];

	if (canary->asking || !leader_knows_rollout(fleet->leader))
		return;
	if (!is_named(fleet, rollout)) {
		canary->revision = 0;
		if (!canary->away)
			return;
		log_notice("this director is no canary any more, and uses the table of all");
		canary->away = false;
		fleet_read_table(fleet); /* what the mirror had may be older than the end of the roll-out */
	} else if (canary->revision != rollout->plan_revision && clock_now_ms() >= canary->next_ms) {
		canary->revision = rollout->plan_revision;
		canary->asking = true;
		rollout_key(fleet->conf.prefix, key, "rollouts/%s/%" PRIu32, rollout->id, rollout->step);
		etcd_request(fleet->etcd, ETCD_RANGE, etcd_range(key, false, 1), on_text, fleet);
	}
}
