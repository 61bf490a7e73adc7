/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/reload_guard.h"

#include "common/clock.h"
#include "table/table_guard.h"

_Static_assert(RELOAD_ERROR_SIZE >= TABLE_GUARD_TEXT_MAX, "a refusal fits");

void reload_guard_sample(struct reload *reload, reload_count *count, void *context)
{
	uint64_t now = clock_now_ms();

	pthread_mutex_lock(&reload->lock);
	for (unsigned i = 0; i < COUNTERS_SLOTS; i++)
		if (reload->slots[i].name[0])
			traffic_sample(&reload->slots[i].traffic, count(context, (uint16_t)i).packets, now);
	pthread_mutex_unlock(&reload->lock);
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
