/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/reload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "program/log.h"
#include "table/file/table_load.h"

static struct routes *load(const char *path, struct faults *faults)
{
	struct table_set set = {0};
	uint32_t version;

	faults->file = path;
	faults->strict = true;
	return table_load(path, &set, &version, faults) < 0 ? NULL : routes_create(&set, faults);
}

static struct reload_slot *find_slot(struct reload *reload, const char *name)
{
	for (unsigned i = 0; i < COUNTERS_SLOTS; i++)
		if (strcmp(reload->slots[i].name, name) == 0)
			return &reload->slots[i];
	return NULL;
}

/* Gives every table of *live the slot of its name or a free slot. There is always one, because of COUNTERS_SLOTS. */
static void assign_slots(struct reload *reload, struct live_table *live,
	struct counters_table (*count)(void *context, uint8_t slot), void *context)
{
	for (uint32_t i = 0; i < live->routes->set.count; i++) {
		char buf[16], name[RELOAD_NAME_SIZE];
		struct reload_slot *slot;

		snprintf(name, sizeof(name), "%s", table_label(&live->routes->set, i, buf));
		slot = find_slot(reload, name);
		if (!slot || !name[0]) {
			slot = find_slot(reload, "");
			strcpy(slot->name, name);
			slot->baseline = (struct counters_table){0};
			if (count)
				slot->baseline = count(context, (uint8_t)(slot - reload->slots));
		}
		live->slot[i] = (uint8_t)(slot - reload->slots);
	}
}

/* Frees the slots of tables that no longer exist. No worker counts in them any more. */
static void release_slots(struct reload *reload, const struct live_table *live)
{
	bool used[COUNTERS_SLOTS] = {false};

	for (uint32_t i = 0; i < live->routes->set.count; i++)
		used[live->slot[i]] = true;
	for (unsigned i = 0; i < COUNTERS_SLOTS; i++)
		if (!used[i])
			reload->slots[i].name[0] = '\0';
}

int reload_open(
	struct reload *reload, struct worker_shared *shared, const char *path, unsigned workers, struct faults *faults)
{
	struct live_table *live = calloc(1, sizeof(*live));

	*reload = (struct reload){.path = path, .shared = shared};
	pthread_mutex_init(&reload->lock, NULL);
	shared->qsbr = rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(workers), RTE_CACHE_LINE_SIZE);
	if (!live || !shared->qsbr || rte_rcu_qsbr_init(shared->qsbr, workers)) {
		faults_error(faults, NULL, "out of memory");
		free(live);
		return -ENOMEM;
	}
	live->routes = load(path, faults);
	if (!live->routes) {
		free(live);
		return -EINVAL;
	}
	log_faults(faults, FAULTS_WARNINGS);
	live->generation = 1;
	assign_slots(reload, live, NULL, NULL);
	shared->live = live;
	log_info("forwarding table %s: %" PRIu32 " tables, digest %016" PRIx64, path, live->routes->set.count,
		live->routes->digest);
	return 0;
}

static int fail(struct reload *reload, const struct faults *faults)
{
	char more[96] = "";

	if (faults->errors > 1)
		snprintf(more, sizeof(more), " (and %zu more: glb-director-cli check lists them)", faults->errors - 1);
	pthread_mutex_lock(&reload->lock);
	reload->failures++;
	snprintf(reload->last_error, sizeof(reload->last_error), "%.*s%s",
		(int)(sizeof(reload->last_error) - sizeof(more)), faults_first_error(faults), more);
	pthread_mutex_unlock(&reload->lock);
	log_error("forwarding table not reloaded: %s", reload->last_error);
	return -EINVAL;
}

int reload_run(struct reload *reload, struct counters_table (*count)(void *context, uint8_t slot), void *context)
{
	struct faults faults = {0};
	struct live_table *old = reload->shared->live, *live = calloc(1, sizeof(*live));
	int error = 0;

	if (live)
		live->routes = load(reload->path, &faults);
	else
		faults_error(&faults, NULL, "out of memory");
	if (!live || !live->routes) {
		error = fail(reload, &faults);
		free(live);
		faults_clear(&faults);
		return error;
	}
	log_faults(&faults, FAULTS_WARNINGS);
	faults_clear(&faults);
	live->generation = old->generation + 1;

	pthread_mutex_lock(&reload->lock);
	assign_slots(reload, live, count, context);
	__atomic_store_n(&reload->shared->live, live, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&reload->lock);
	/* Without the lock, so that telemetry replies even if a worker is stuck. */
	rte_rcu_qsbr_synchronize(reload->shared->qsbr, RTE_QSBR_THRID_INVALID);
	pthread_mutex_lock(&reload->lock);
	release_slots(reload, live);
	reload->reloads++;
	reload->last_error[0] = '\0';
	pthread_mutex_unlock(&reload->lock);

	log_notice("forwarding table %s reloaded: generation %" PRIu64 ", %" PRIu32 " tables, digest %016" PRIx64
		   " -> %016" PRIx64,
		reload->path, live->generation, live->routes->set.count, old->routes->digest, live->routes->digest);
	routes_free(old->routes);
	free(old);
	return 0;
}

void reload_close(struct reload *reload)
{
	struct worker_shared *shared = reload->shared;

	if (shared->live)
		routes_free(shared->live->routes);
	free(shared->live);
	shared->live = NULL;
	rte_free(shared->qsbr);
	shared->qsbr = NULL;
	pthread_mutex_destroy(&reload->lock);
	*reload = (struct reload){0};
}
