/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/reload/reload_guard.h"

#include "common/clock.h"
#include "table/table_guard.h"

_Static_assert(RELOAD_ERROR_SIZE >= TABLE_GUARD_TEXT_MAX, "a refusal fits");

uint32_t reload_guard_sample(struct reload *reload, uint32_t backends)
{
	uint64_t now = clock_now_ms();
	const struct live_table *live;
	uint32_t count, sampled = 0;

	pthread_mutex_lock(&reload->lock);
	live = reload->shared->live;
	count = live->routes->set.count;
	for (uint32_t summed = 0; sampled < count && summed < backends; sampled++) {
		uint32_t at = reload->sampled_next++ % count;

		traffic_sample(&reload->slots[live->slot[at]].traffic,
			table_counts_table(&live->counts, live->routes, at).packets, now);
		summed += live->routes->set.tables[at].backend_count;
	}
	pthread_mutex_unlock(&reload->lock);
	return sampled;
}

bool reload_guard_allows(struct reload *reload, const struct table_set *new, bool force, struct faults *faults,
	char refusal[RELOAD_ERROR_SIZE])
{
	const struct live_table *live = reload->shared->live;
	bool busy[TABLE_MAX_TABLES] = {false};
	struct table_guard guard = {
		.old = &live->routes->set,
		.new = new,
		.max_shrink = reload->max_shrink,
		.busy = busy,
		.forced = force,
		.command = "glb-director-cli reload --force",
	};
	uint64_t now = clock_now_ms();

	pthread_mutex_lock(&reload->lock);
	for (uint32_t i = 0; i < live->routes->set.count; i++)
		busy[i] = traffic_is_recent(&reload->slots[live->slot[i]].traffic, now);
	pthread_mutex_unlock(&reload->lock);
	if (table_guard_allows(&guard, faults))
		return true;
	table_guard_refusal(&guard, faults, refusal);
	return false;
}

void reload_guard_first(const struct table_set *first, struct faults *faults)
{
	struct table_guard guard = {.old = &(struct table_set){0}, .new = first};

	table_guard_allows(&guard, faults);
}
